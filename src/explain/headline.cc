#include "explain/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/numbers.h"
#include "base/stats.h"
#include "base/text.h"

namespace firstwait {
namespace {

constexpr double kPossible = 0.5;
// A replay that misses the step time by more is inconclusive.
constexpr double kReplayError = 0.05;

std::string since(const Attribution& a) {
  if (!a.onset) return "";
  return fmt::format(" since step {}", with_thousands(a.onset->step));
}

// What repeats costs something even when nobody asks: "; that is 23 % of the time".
std::string periodic_cost(const Attribution& a) {
  const double share = a.pattern.cost_s_per_step / a.current_s;
  return share > 0.005 && share < 1 ? fmt::format("; that is {} of the time", percent(share))
                                    : std::string();
}

// Whose time the productive fraction is: that of the device where its kernels were recorded.
std::string_view computing(const Report& r) {
  const auto& traces = r.attribution.traces;
  const auto gpus =
      std::count_if(traces.begin(), traces.end(), [](const TraceFacts& t) { return t.has_gpu; });
  return gpus == 0 ? "Computes" : gpus == 1 ? "The GPU computes" : "GPUs compute";
}

// Slow steps that are few, or one stretch, by name.
std::string few_outliers(const Attribution& a) {
  constexpr size_t kNamed = 3;
  if (a.outliers.empty()) return "";
  std::vector<int32_t> steps;
  double most = 0;
  for (const auto& o : a.outliers) {
    steps.push_back(o.step);
    most = std::max(most, o.ratio);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  const std::string all = with_thousands(static_cast<int64_t>(a.steps.size()));
  if (steps.size() == 1 && most > 1)
    return fmt::format("Of {} steps, step {} took {} as long as its neighbours.", all,
                       with_thousands(steps[0]), times(most));
  if (steps.size() > 2 &&
      int64_t{steps.back()} - steps.front() + 1 == static_cast<int64_t>(steps.size()))
    return fmt::format("Of {} steps, steps {} to {} are slow.", all, with_thousands(steps.front()),
                       with_thousands(steps.back()));
  if (steps.size() > kNamed) return "";
  std::string list;
  for (size_t i = 0; i < steps.size(); ++i)
    list += (i == 0 ? "" : i + 1 == steps.size() ? " and " : ", ") + with_thousands(steps[i]);
  return fmt::format("Of {} steps, steps {} are slow, one at a time.", all, list);
}

// Slow for a while, and over: the longest such stretch.
std::string past_episode(const Attribution& a) {
  const auto worst = std::max_element(a.episodes.begin(), a.episodes.end(),
                                      [](const Episode& x, const Episode& y) {
                                        return x.seconds_per_step * (x.last_step - x.first_step) <
                                               y.seconds_per_step * (y.last_step - y.first_step);
                                      });
  if (worst == a.episodes.end() || !(worst->ratio > 1)) return "";
  return fmt::format("Steps {} to {} took {} as long as those around them; that is over.",
                     with_thousands(worst->first_step), with_thousands(worst->last_step),
                     times(worst->ratio));
}

// Workers that deliver in turn make a wait for input periodic: it is how that shows, not the story.
bool is_round_robin(const Report& r) {
  if (r.findings.empty()) return false;
  const std::string& cause = r.findings.front().cause;
  return cause.starts_with("input.") || cause.starts_with("storage.") || cause == "sync.straggler";
}

// "4.8× slower since step 61,240.", "Runs at 38 % of what its GPUs allow.", ...
std::string opening(const Report& r) {
  const auto& a = r.attribution;
  switch (a.pattern.kind) {
    case PatternKind::drift:
      if (a.slowdown > 1)
        return fmt::format("{} slower, little by little over the record.", times(a.slowdown));
      break;
    case PatternKind::step:
      if (a.slowdown > 1) return fmt::format("{} slower{}.", times(a.slowdown), since(a));
      if (a.slowdown > 0) return fmt::format("{} faster{}.", times(1 / a.slowdown), since(a));
      break;
    case PatternKind::periodic:
      if (is_round_robin(r)) break;
      if (a.pattern.period_steps)
        return fmt::format("Every {} steps, one takes {} as long{}.",
                           with_thousands(*a.pattern.period_steps), times(a.pattern.period_ratio),
                           periodic_cost(a));
      break;
    case PatternKind::intermittent:
      if (!a.straggles.empty()) break;
      if (std::string few = few_outliers(a); !few.empty()) return few;
      return fmt::format("{} of {} steps {} slow{}.", a.outliers.size(),
                         with_thousands(static_cast<int64_t>(a.steps.size())),
                         a.outliers.size() == 1 ? "is" : "are",
                         a.outliers.size() == 1 ? "" : ", one at a time");
    case PatternKind::chronic:
    case PatternKind::none:
      break;
  }
  if (std::string past = past_episode(a); !past.empty() && a.straggles.empty()) return past;
  if (a.productive_fraction >= 0)
    return fmt::format("{} {} of each step.", computing(r), percent(a.productive_fraction));
  return "";
}

// "Rank 1 waits", "All 8 ranks wait".
std::string who_waits(const Report& r, Phase phase) {
  const size_t n = r.rank_ids.size();
  if (n <= 1) return "The job waits";
  for (const auto& row : r.attribution.ledger) {
    if (row.phase != phase || row.ranks.empty() || row.ranks.size() >= n) continue;
    if (row.ranks.size() == 1) return fmt::format("Rank {} waits", row.ranks[0]);
    return fmt::format("{} of {} ranks wait", row.ranks.size(), n);
  }
  return fmt::format("All {} ranks wait", n);
}

std::string waits_for(const Finding& f, const Report& r) {
  std::string_view what;
  Phase phase = Phase::collective;
  const std::string& id = f.cause;
  if (id.starts_with("input.") || id.starts_with("storage."))
    what = "input", phase = Phase::input_wait;
  else if (id.starts_with("network."))
    what = "the network";
  else if (id == "sync.communication_bound")
    return "";  // nobody is late there
  else if (id.starts_with("sync."))
    what = "late work";
  if (id.starts_with("storage.")) {
    double checkpoint = 0, input = 0;
    for (const auto& row : r.attribution.ledger) {
      if (row.phase == Phase::checkpoint) checkpoint = row.seconds - row.before.value_or(0);
      if (row.phase == Phase::input_wait) input = row.seconds - row.before.value_or(0);
    }
    if (checkpoint > input) what = "checkpoints", phase = Phase::checkpoint;
  }
  if (what.empty()) return "";
  return fmt::format("{} for {}, because ", who_waits(r, phase), what);
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

size_t open_causes(const Report& r) {
  return static_cast<size_t>(
      std::count_if(r.findings.begin(), r.findings.end(),
                    [](const Finding& f) { return f.confidence < kPossible; }));
}

// Of what the slow steps of a period, or single ones, take longer: whether no phase explains it
// where phases are known.
bool slow_steps_unexplained(const Attribution& a) {
  const auto& unexplained = a.steps.ledger[index(Phase::unexplained)];
  if (a.steps.time.size() != a.steps.size() || unexplained.size() != a.steps.size()) return false;
  std::set<int32_t> slow;
  for (const Outlier& o : a.outliers) slow.insert(o.step);
  const auto& p = a.pattern;
  std::vector<double> time[2], hidden[2];
  for (size_t c = 0; c < a.steps.size(); ++c) {
    const bool on = p.period_steps ? a.steps.step[c] % *p.period_steps == p.period_phase
                                   : slow.contains(a.steps.step[c]);
    time[on ? 1 : 0].push_back(static_cast<double>(a.steps.time[c]));
    hidden[on ? 1 : 0].push_back(static_cast<double>(unexplained[c]));
  }
  if (time[0].empty() || time[1].empty()) return false;
  const double longer = median(time[1]) - median(time[0]);
  return longer > 0 && median(hidden[1]) - median(hidden[0]) > 0.5 * longer;
}

// " That time lies between steps ...": where slow steps lose their time, when that is known.
std::string where_slow_steps_lose(const Attribution& a, double between_s) {
  if (a.pattern.kind != PatternKind::periodic && a.pattern.kind != PatternKind::intermittent)
    return "";
  if (!slow_steps_unexplained(a)) return "";
  if (between_s >= 0.5 * a.pattern.cost_s_per_step)
    return " That time lies between steps, where nothing recorded says what happens.";
  return a.ledger.size() > 1 ? " No record covers that time." : "";
}

std::string phase_sentence(const LedgerRow& row, const Attribution& a, double between_s) {
  const bool between =
      row.phase == Phase::unexplained && between_s >= 0.5 * (row.seconds - row.before.value_or(0));
  if (between && !row.before)
    return fmt::format(
        "{} of the time lies between steps, {} each time, and nothing recorded says what happens "
        "there.",
        percent(between_s / a.current_s), seconds(between_s));
  std::string what = std::string(name(row.phase));
  switch (row.phase) {
    case Phase::input_wait:
      what = "Waiting for input";
      break;
    case Phase::h2d:
      what = "Copying to the device";
      break;
    case Phase::collective:
      what = "Time in collectives";
      break;
    case Phase::p2p:
      what = "Waiting for other stages";
      break;
    case Phase::unexplained:
      what = "Time that no record covers";
      break;
    default:
      what = "Time in " + what;
  }
  if (row.before)
    return fmt::format(
        "{} grew from {} to {} a step{}.", what, seconds(*row.before), seconds(row.seconds),
        between ? ", most of it between the end of a step and the start of the next" : "");
  return fmt::format("{} is {} of each step of {}.", what, seconds(row.seconds),
                     seconds(a.current_s));
}

// " (smi.xml as nvidia_smi, _dump_0 as flight_recorder and 2 more)"
std::string what_was_read(const Report& r) {
  constexpr size_t kNamed = 3;
  std::string out;
  for (size_t i = 0; i < r.sources.size() && i < kNamed; ++i) {
    const std::string_view path = r.sources[i].path;
    out += fmt::format("{}{} as {}", i == 0 ? " (" : ", ", path.substr(path.rfind('/') + 1),
                       r.sources[i].importer);
  }
  if (r.sources.size() > kNamed) out += fmt::format(" and {} more", r.sources.size() - kNamed);
  return out.empty() ? out : out + ")";
}

std::string undetermined(const Report& r, double between_s) {
  std::string out = opening(r);
  if (!out.empty()) out += ' ';
  const auto& a = r.attribution;
  if (a.steps.size() == 0 && a.level == EvidenceLevel::metrics && r.findings.empty()) {
    out +=
        "Nothing suspicious in these samples alone; without step times a slowdown cannot be "
        "judged.";
  } else if (a.steps.size() == 0 && r.findings.empty()) {
    out += fmt::format(
        "Cannot judge: no step times in what was read{}. Add a training log, a profiler trace or "
        "step times of its ranks.",
        what_was_read(r));
  } else if (a.pattern.kind == PatternKind::none && a.episodes.empty() && open_causes(r) == 0) {
    out += "No slowdown seen";
    if (a.steps.size() > 1)
      out += fmt::format(" over {} steps", with_thousands(static_cast<int64_t>(a.steps.size())));
    if (a.steps.size() == 1) out += " in the one step recorded";
    out += "; what bounds the step is not known from this evidence.";
  } else {
    if (const LedgerRow* row = waiting_phase(a))
      out += phase_sentence(*row, a, between_s) + ' ';
    else if (const std::string lost = where_slow_steps_lose(a, between_s); !lost.empty())
      out += lost.substr(1) + ' ';
    out += "The cause is not clear.";
  }
  if (a.steps.size() == 0) return out;
  std::vector<std::string> open;
  for (const auto& f : r.findings)
    if (f.confidence < kPossible) open.push_back(f.cause);
  // When no phase tells, dozens remain: three of them would say nothing.
  if (const LedgerRow* row = waiting_phase(a); row != nullptr && row->phase != Phase::unexplained)
    for (const auto& u : r.untested)
      if (u.relevant && open.size() < 3) open.push_back(u.cause);
  if (!open.empty() && a.pattern.kind != PatternKind::none) {
    out += fmt::format(" {}:", open.size() == 1 ? "One remains" : "Among those that remain");
    for (size_t i = 0; i < open.size() && i < 3; ++i) out += (i == 0 ? " " : ", ") + open[i];
    out += '.';
  }
  if (!r.next_measurements.empty())
    out += fmt::format(" To decide: {}.", r.next_measurements.front().text);
  return out;
}

// Single slow steps that cost a relevant part of the time: the phase in which most of them lose it.
const LedgerRow* phase_of_slow_steps(const Attribution& a) {
  constexpr double kRelevant = 0.05;  // PyTorch profiler plugin: what it reports of a step
  if (a.pattern.kind != PatternKind::intermittent ||
      !(a.pattern.cost_s_per_step >= kRelevant * a.current_s))
    return nullptr;
  for (const LedgerRow& row : a.ledger) {
    const auto lost = std::count_if(a.outliers.begin(), a.outliers.end(),
                                    [&](const Outlier& o) { return o.phase == row.phase; });
    const bool works = is_compute(row.phase) || row.phase == Phase::unexplained;
    if (!works && 2 * static_cast<size_t>(lost) > a.outliers.size()) return &row;
  }
  return nullptr;
}

}  // namespace

const LedgerRow* waiting_phase(const Attribution& a) {
  // A tenth of the step is the least that makes a job count as slowed down (arXiv 2505.05713).
  constexpr double kRelevant = 0.1;
  if (a.ledger.size() < 2) return nullptr;
  const LedgerRow* most = nullptr;
  const auto grown = [](const LedgerRow& row) { return row.seconds - row.before.value_or(0); };
  for (const auto& row : a.ledger) {
    const bool works = row.phase == Phase::forward || row.phase == Phase::backward ||
                       row.phase == Phase::optimizer;
    if (works && !row.before) continue;  // computing is what a step is for
    if (most == nullptr || grown(row) > grown(*most)) most = &row;
  }
  if (most != nullptr && grown(*most) >= kRelevant * a.current_s) return most;
  return phase_of_slow_steps(a);
}

std::string confidence_word(double confidence) {
  if (confidence >= 0.9) return "very likely";
  if (confidence >= 0.7) return "likely";
  if (confidence >= kPossible) return "possible";
  return "undetermined";
}

namespace {

void say_verdict(Report& r, double between_steps_s) {
  const auto& a = r.attribution;
  if (std::abs(a.replay_error) > kReplayError) {
    r.verdict_word = "inconclusive";
    r.headline = fmt::format("Inconclusive: replay misses the step time by {}.",
                             percent(std::abs(a.replay_error)));
    if (!r.findings.empty())
      r.headline += fmt::format(" The most likely cause would be {}.", r.findings.front().cause);
    return;
  }
  // What costs the steady step nothing (start-up, once) is a finding, but not why the job is slow.
  const auto told = std::find_if(r.findings.begin(), r.findings.end(), [&a](const Finding& f) {
    return f.confidence >= kPossible && !(f.cost_share && *f.cost_share == 0) &&
           !(f.verdict.throughout && a.onset);
  });
  if (told == r.findings.end()) {
    r.verdict_word = "undetermined";
    r.headline = undetermined(r, between_steps_s);
    return;
  }
  const Finding& f = *told;
  r.verdict_word = confidence_word(f.confidence);
  if (f.cause == "telemetry.unreliable") r.verdict_word = "data";
  if (f.cause == "healthy.compute_bound") {
    r.verdict_word = "healthy";
    const double exchanging = a.collective_transfer_s / a.current_s;
    const std::string past = past_episode(a);
    r.headline = fmt::format(
        "{}: GPUs compute {} of each step{}.",
        past.empty() ? "Nothing waits" : past + " Nothing waits now",
        percent(a.productive_fraction),
        exchanging >= 0.01 ? fmt::format(" and exchange data for {}", percent(exchanging)) : "");
    return;
  }
  std::string out = opening(r);
  // The opening has said it, with its cost.
  if (f.cause == "workload.periodic_work" && r.attribution.pattern.kind == PatternKind::periodic &&
      !out.empty()) {
    r.headline = out + where_slow_steps_lose(a, between_steps_s);
    return;
  }
  if (!out.empty()) out += ' ';
  const std::string because = f.verdict.because.empty() ? f.title : f.verdict.because;
  // Without a ledger nothing was seen to wait: then the fact is told alone.
  const std::string wait = r.attribution.ledger.empty() ? "" : waits_for(f, r);
  out += wait.empty() ? capitalised(because) : wait + because;
  if (out.back() != '.') out += '.';
  r.headline = out;
}

std::vector<std::string> lone_pauses(const Report& r) {
  std::vector<std::string> out;
  for (const Event& e : r.events) {
    const auto step = parse_int(e.attribute("step"));
    if (e.kind != "pause" || !step || e.start == kNoTime || e.end <= e.start) continue;
    out.push_back(fmt::format(
        "A pause of {} lies between steps {} and {}, cause unknown: no record tells of it.",
        seconds(static_cast<double>(e.end - e.start) * 1e-9), with_thousands(*step - 1),
        with_thousands(*step)));
  }
  return out;
}

}  // namespace

void headline(Report& r, double between_steps_s) {
  say_verdict(r, between_steps_s);
  for (const std::string& pause : lone_pauses(r)) r.headline += ' ' + pause;
}

}  // namespace firstwait
