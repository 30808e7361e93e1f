#include "explain/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"

namespace firstwait {
namespace {

constexpr double kPossible = 0.5;
// DESIGN section 3: a replay that misses the step time by more is inconclusive.
constexpr double kReplayError = 0.05;

std::string since(const Attribution& a) {
  if (!a.onset) return "";
  return fmt::format(" since step {}", with_thousands(a.onset->step));
}

// What repeats costs something even when nobody asks: "; that is 23 % of the time".
std::string periodic_cost(const Attribution& a) {
  const double share = a.pattern.cost_s_per_step / a.current_s;
  return share > 0.005 && share < 1 ? fmt::format("; that is {} of the time", percent(share)) : std::string();
}

// Whose time the productive fraction is: that of the device where its kernels were recorded.
std::string_view computing(const Report& r) {
  const auto& traces = r.attribution.traces;
  const auto gpus = std::count_if(traces.begin(), traces.end(), [](const TraceFacts& t) { return t.has_gpu; });
  return gpus == 0 ? "Computes" : gpus == 1 ? "The GPU computes" : "GPUs compute";
}

// "4.8× slower since step 61,240.", "Runs at 38 % of what its GPUs allow.", ...
std::string opening(const Report& r) {
  const auto& a = r.attribution;
  switch (a.pattern.kind) {
    case PatternKind::step:
    case PatternKind::drift:
      if (a.slowdown > 1) return fmt::format("{} slower{}.", times(a.slowdown), since(a));
      if (a.slowdown > 0) return fmt::format("{} faster{}.", times(1 / a.slowdown), since(a));
      break;
    case PatternKind::periodic:
      if (a.pattern.period_steps)
        return fmt::format("Every {} steps, one takes {} as long{}.", with_thousands(*a.pattern.period_steps),
                           times(a.pattern.period_ratio), periodic_cost(a));
      break;
    case PatternKind::intermittent:
      if (!a.straggles.empty()) break;
      return fmt::format("{} of {} steps {} slow{}.", a.outliers.size(),
                         with_thousands(static_cast<int64_t>(a.steps.size())), a.outliers.size() == 1 ? "is" : "are",
                         a.outliers.size() == 1 ? "" : ", one at a time");
    case PatternKind::chronic:
    case PatternKind::none:
      break;
  }
  if (a.productive_fraction >= 0) return fmt::format("{} {} of each step.", computing(r), percent(a.productive_fraction));
  return "";
}

std::string who(const Report& r) {
  const size_t n = r.rank_ids.size();
  if (n <= 1) return "The job";
  return fmt::format("All {} ranks", n);
}

std::string waits_for(const Finding& f, const Report& r) {
  std::string_view what;
  const std::string& id = f.cause;
  if (id.starts_with("input.") || id.starts_with("storage.")) what = "input";
  else if (id.starts_with("network.")) what = "the network";
  else if (id.starts_with("sync.")) what = "late work";
  if (id.starts_with("storage.")) {
    double checkpoint = 0, input = 0;
    for (const auto& row : r.attribution.ledger) {
      if (row.phase == Phase::checkpoint) checkpoint = row.seconds - row.before.value_or(0);
      if (row.phase == Phase::input_wait) input = row.seconds - row.before.value_or(0);
    }
    if (checkpoint > input) what = "checkpoints";
  }
  if (what.empty()) return "";
  const std::string subject = who(r);
  return fmt::format("{} {} for {}, because ", subject, subject.starts_with("All") ? "wait" : "waits", what);
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

size_t open_causes(const Report& r) {
  return static_cast<size_t>(std::count_if(r.findings.begin(), r.findings.end(),
                                           [](const Finding& f) { return f.confidence < kPossible; }));
}

std::string undetermined(const Report& r) {
  std::string out = opening(r);
  if (!out.empty()) out += ' ';
  const auto& a = r.attribution;
  if (a.steps.size() == 0 && a.level == EvidenceLevel::metrics && r.findings.empty()) {
    out += "Nothing suspicious in these samples alone; without step times a slowdown cannot be judged.";
  } else if (a.steps.size() == 0 && r.findings.empty()) {
    out += "Cannot judge: no step times in what was read.";
  } else if (a.pattern.kind == PatternKind::none && open_causes(r) == 0) {
    out += "No slowdown seen";
    if (a.steps.size() > 1) out += fmt::format(" over {} steps", with_thousands(static_cast<int64_t>(a.steps.size())));
    if (a.steps.size() == 1) out += " in the one step recorded";
    out += "; what bounds the step is not known from this evidence.";
  } else {
    out += "The cause is not clear.";
  }
  if (a.steps.size() == 0) return out;
  std::vector<std::string> open;
  for (const auto& f : r.findings)
    if (f.confidence < kPossible) open.push_back(f.cause);
  for (const auto& u : r.untested)
    if (u.relevant && open.size() < 3) open.push_back(u.cause);
  if (!open.empty() && a.pattern.kind != PatternKind::none) {
    out += fmt::format(" {}:", open.size() == 1 ? "One remains" : "Among those that remain");
    for (size_t i = 0; i < open.size() && i < 3; ++i) out += (i == 0 ? " " : ", ") + open[i];
    out += '.';
  }
  if (!r.next_measurements.empty()) out += fmt::format(" To decide: {}.", r.next_measurements.front().text);
  return out;
}

}  // namespace

std::string confidence_word(double confidence) {
  if (confidence >= 0.9) return "very likely";
  if (confidence >= 0.7) return "likely";
  if (confidence >= kPossible) return "possible";
  return "undetermined";
}

void headline(Report& r) {
  const auto& a = r.attribution;
  if (std::abs(a.replay_error) > kReplayError) {
    r.verdict_word = "inconclusive";
    r.headline = fmt::format("Inconclusive: replay misses the step time by {}.", percent(std::abs(a.replay_error)));
    if (!r.findings.empty())
      r.headline += fmt::format(" The most likely cause would be {}.", r.findings.front().cause);
    return;
  }
  // What costs the steady step nothing (start-up, once) is a finding, but not why the job is slow.
  const auto told = std::find_if(r.findings.begin(), r.findings.end(), [](const Finding& f) {
    return f.confidence >= kPossible && !(f.cost_share && *f.cost_share == 0);
  });
  if (told == r.findings.end()) {
    r.verdict_word = "undetermined";
    r.headline = undetermined(r);
    return;
  }
  const Finding& f = *told;
  r.verdict_word = confidence_word(f.confidence);
  if (f.cause == "healthy.compute_bound") {
    r.verdict_word = "healthy";
    r.headline = fmt::format("Nothing waits: GPUs compute {} of each step.", percent(a.productive_fraction));
    return;
  }
  std::string out = opening(r);
  // The opening has said it, with its cost.
  if (f.cause == "workload.periodic_work" && r.attribution.pattern.kind == PatternKind::periodic && !out.empty()) {
    r.headline = out;
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

}  // namespace firstwait
