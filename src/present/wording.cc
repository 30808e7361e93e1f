#include "present/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "present/numbers.h"

namespace firstwait {

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

namespace {

std::string spaces_for_underscores(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

// 1 file, 2 files.
std::string counted(uint64_t n, std::string_view one, std::string_view many) {
  return with_thousands(static_cast<int64_t>(std::min<uint64_t>(n, INT64_MAX))) + " " +
         std::string(n == 1 ? one : many);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether `text` holds the number as a word of its own: "5" in "steps 5 and 9", not in "15".
bool mentions_number(std::string_view text, std::string_view number) {
  for (size_t at = text.find(number); at != std::string_view::npos;
       at = text.find(number, at + 1)) {
    const bool left = at == 0 || (!is_digit(text[at - 1]) && text[at - 1] != '.');
    const size_t end = at + number.size();
    const bool right = end == text.size() ||
                       (!is_digit(text[end]) &&
                        !(text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1])));
    if (left && right) return true;
  }
  return false;
}

bool observed_step(const Report& report, int32_t step) {
  return std::any_of(report.observations.begin(), report.observations.end(),
                     [&](const Observation& o) {
                       return contains_ignoring_case(o.text, "step") &&
                              (mentions_number(o.text, std::to_string(step)) ||
                               mentions_number(o.text, with_thousands(step)));
                     });
}

bool observed_rank(const Report& report, int32_t rank) {
  const std::string id = std::to_string(rank), entity = "rank/" + id;
  return std::any_of(
      report.observations.begin(), report.observations.end(), [&](const Observation& o) {
        return o.where == entity ||
               (contains_ignoring_case(o.text, "rank " + id) && mentions_number(o.text, id)) ||
               (contains_ignoring_case(o.text, "worker " + id) && mentions_number(o.text, id));
      });
}

bool accused_rank(const Report& report, int32_t rank) {
  const std::string entity = "rank/" + std::to_string(rank);
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& f) {
    return std::find(f.verdict.where.begin(), f.verdict.where.end(), entity) !=
           f.verdict.where.end();
  });
}

std::string duration(const Report& report, double seconds) {
  return report.job.unitless ? three_digits(seconds) : firstwait::seconds(seconds);
}

std::string ratio_range(double lo, double hi) { return times(Interval{lo, hi}); }

void say_outliers(const Report& report, std::vector<std::string>& out) {
  std::vector<const Outlier*> left;
  for (const auto& o : report.attribution.outliers)
    if (o.step >= 0 && !observed_step(report, o.step)) left.push_back(&o);
  if (left.empty()) return;
  std::vector<std::string> steps;
  double lo = left[0]->ratio, hi = lo, shortest = left[0]->seconds, longest = shortest;
  std::set<Phase> phases;
  for (const auto* o : left) {
    steps.push_back(with_thousands(o->step) +
                    (o->rank >= 0 ? fmt::format(" (rank {})", o->rank) : ""));
    lo = std::min(lo, o->ratio);
    hi = std::max(hi, o->ratio);
    shortest = std::min(shortest, o->seconds);
    longest = std::max(longest, o->seconds);
    phases.insert(o->phase);
  }
  std::string text =
      fmt::format("{} {} took {} {} neighbours: ", left.size() == 1 ? "Step" : "Steps",
                  list_text(steps, 8), ratio_range(lo, hi), left.size() == 1 ? "its" : "their");
  text += left.size() == 1 ? duration(report, longest)
          : left.size() == 2 && shortest != longest
              ? duration(report, left[0]->seconds) + " and " + duration(report, left[1]->seconds)
              : duration(report, shortest) + " to " + duration(report, longest);
  if (phases.size() == 1 && *phases.begin() != Phase::unexplained)
    text += fmt::format("; {} grew most", phase_label(*phases.begin()));
  out.push_back(text + ".");
}

void say_episodes(const Report& report, std::vector<std::string>& out) {
  for (const auto& e : report.attribution.episodes) {
    if (e.first_step < 0 || observed_step(report, e.first_step)) continue;
    std::string text = e.first_step == e.last_step
                           ? fmt::format("Step {} was slow", with_thousands(e.first_step))
                           : fmt::format("Steps {} to {} were slow", with_thousands(e.first_step),
                                         with_thousands(e.last_step));
    if (std::isfinite(e.ratio)) text += fmt::format(": {} those around them", times(e.ratio));
    if (e.seconds_per_step > 0)
      text += fmt::format(", {} more per step", duration(report, e.seconds_per_step));
    out.push_back(text + "; over now.");
  }
}

void say_offsets(const Report& report, std::vector<std::string>& out) {
  for (const auto& o : report.attribution.offsets) {
    if (observed_rank(report, o.rank)) continue;
    const double off = o.ratio - 1;
    std::string text = fmt::format("Rank {} is {} {} the median rank throughout", o.rank,
                                   percent(std::abs(off)), off >= 0 ? "above" : "below");
    if (o.seconds_per_step > 0) {
      text += fmt::format("; it costs {} per step", duration(report, o.seconds_per_step));
    }
    out.push_back(text + ". No onset, so no fault is named.");
  }
}

void say_straggles(const Report& report, std::vector<std::string>& out) {
  for (const auto& s : report.attribution.straggles) {
    if (observed_rank(report, s.rank) || accused_rank(report, s.rank)) continue;
    std::string text = fmt::format("Rank {} was late in steps {} to {}", s.rank,
                                   with_thousands(s.first_step), with_thousands(s.last_step));
    if (std::isfinite(s.mean_ratio)) text += fmt::format(": {} its peers", times(s.mean_ratio));
    if (std::isfinite(s.peak_ratio)) text += fmt::format(", at most {}", times(s.peak_ratio));
    out.push_back(text + ".");
  }
}

void say_groupings(const Report& report, std::vector<std::string>& out) {
  for (const auto& g : report.attribution.groupings) {
    if (g.value.empty() || g.ranks.empty()) continue;
    std::vector<std::string> ranks;
    for (const auto r : g.ranks) ranks.push_back(std::to_string(r));
    std::string text =
        fmt::format("The slow {} {} share {}", g.ranks.size() == 1 ? "rank" : "ranks",
                    list_text(ranks, 8), g.value);
    if (g.dimensions.size() > 1)
      text += fmt::format(" ({} cannot be told apart here)", list_text(g.dimensions, 4));
    if (std::isfinite(g.p_value)) text += fmt::format("; p = {:.2g}", g.p_value);
    out.push_back(text + ".");
  }
}

bool is_change(const Event& e) {
  return e.kind.ends_with("_change") || e.kind == "placement" || e.kind == "restart" ||
         e.kind.starts_with("neighbour_");
}

}  // namespace

Tone tone_of(const Report& report) {
  const auto& word = report.verdict_word;
  if (word == "healthy") return Tone::healthy;
  if (word == "data" || word == "inconclusive") return Tone::cannot_judge;
  if (word == "very likely" || word == "likely" || word == "possible") return Tone::slow;
  return Tone::undetermined;
}

bool names_origin(const Report& report) {
  return tone_of(report) == Tone::slow && report.verdict_word != "possible" &&
         !report.findings.empty();
}

Certainty certainty(const Report& report) {
  Certainty c;
  switch (tone_of(report)) {
    case Tone::healthy:
      c.word = "Nothing waits";
      break;
    case Tone::cannot_judge:
      c.word = report.verdict_word == "data" ? "Cannot judge" : "Inconclusive";
      break;
    case Tone::undetermined:
      c.word = "Undetermined";
      break;
    case Tone::slow:
      c.word = capital(report.verdict_word);
      break;
  }
  if (tone_of(report) == Tone::slow && !report.findings.empty())
    c.percent = confidence_text(report.findings[0].confidence);
  return c;
}

std::string job_title(const Report& report) {
  if (!report.job.id.empty()) return report.job.id;
  return report.label.empty() ? "this job" : report.label;
}

std::string subject_line(const Report& report) {
  std::vector<std::string> parts;
  if (!report.rank_ids.empty()) {
    std::string text = counted(report.rank_ids.size(), "rank", "ranks");
    if (!report.hosts.empty()) text += " on " + comma_text(report.hosts, 3);
    parts.push_back(text);
  } else if (!report.hosts.empty()) {
    parts.push_back(comma_text(report.hosts, 3));
  }
  if (const size_t steps = report.attribution.steps.size(); steps > 0) {
    std::string text = counted(steps, "step", "steps");
    if (report.span_s > 0 && !report.job.unitless)
      text += " in " + firstwait::seconds(report.span_s);
    parts.push_back(text);
  }
  if (!report.job.owner.empty()) parts.push_back(report.job.owner);
  return fmt::format("{}", fmt::join(parts, " · "));
}

Headline headline_parts(const Report& report, bool with_time) {
  Headline parts;
  std::string text = report.headline;
  if (text.empty()) {
    text = tone_of(report) == Tone::healthy ? "Nothing waits."
                                            : "Cannot judge: this input shows no step times.";
  }
  const auto& onset = report.attribution.onset;
  if (with_time && onset && onset->time != kNoTime && report.start != kNoTime) {
    for (const auto& number : {with_thousands(onset->step), std::to_string(onset->step)}) {
      const std::string phrase = "since step " + number;
      const size_t at = text.find(phrase);
      if (at == std::string::npos) continue;
      const size_t end = at + phrase.size();
      if (end < text.size() && is_digit(text[end])) continue;
      if (text.compare(end, 2, " (") == 0) break;
      text.insert(end, " (" + utc_date_time(onset->time) + ")");
      break;
    }
  }
  const size_t because = text.find(", because ");
  if (because == std::string::npos) {
    parts.claim = std::move(text);
  } else {
    parts.claim = text.substr(0, because + 10);
    parts.reason = text.substr(because + 10);
  }
  return parts;
}

std::string rivals_sentence(const Report& report) {
  const size_t refuted = report.ruled_out.size(), untested = report.untested.size();
  if (refuted + untested == 0) return {};
  std::string text = counted(refuted, "rival", "rivals") + " refuted, " +
                     with_thousands(static_cast<int64_t>(untested)) + " untested";
  const auto relevant =
      static_cast<size_t>(std::count_if(report.untested.begin(), report.untested.end(),
                                        [](const Untested& u) { return u.relevant; }));
  if (relevant > 0 && relevant < untested) text += fmt::format(" ({} could matter here)", relevant);
  return text;
}

std::string lost_text(const Report& report) {
  if (report.findings.empty() || tone_of(report) == Tone::healthy || report.job.unitless) return {};
  const auto& hours = report.findings[0].cost_gpu_hours;
  // A few GPU minutes are lost on every job.
  constexpr double kLeastGpuHours = 0.1;
  return hours && *hours >= kLeastGpuHours ? three_digits(*hours) + " GPU h" : std::string();
}

std::string signal_words(std::string_view signal) {
  std::string words = spaces_for_underscores(signal);
  for (const std::string_view name : {"gpu", "cpu", "nic", "io", "rpc", "nfs"})
    if (words == name || words.starts_with(std::string(name) + " "))
      for (size_t i = 0; i < name.size(); ++i) words[i] = static_cast<char>(words[i] - 32);
  return capital(words);
}

std::string evidence_value(const EvidenceRow& row) {
  if (!row.baseline && !row.current) return {};
  return change_text(row.baseline, row.current, row.unit);
}

std::string refusal(const RuledOut& ruled_out) {
  if (!ruled_out.reason.empty()) return ruled_out.reason;
  for (const auto& row : ruled_out.evidence) {
    const std::string value = evidence_value(row);
    if (!row.text.empty()) return value.empty() ? row.text : row.text + ": " + value;
  }
  return std::string(kAbsent);
}

std::string event_text(const Event& event) {
  std::string text = signal_words(event.kind);
  for (const std::string_view key : {"text", "description", "summary", "message"})
    if (const auto said = event.attribute(key); !said.empty())
      return text + ": " + std::string(said);
  const auto key = event.attribute("key");
  const auto from = event.attribute("from"), to = event.attribute("to");
  if (!to.empty() || !from.empty()) {
    text += ":";
    if (!key.empty()) text.append(" ").append(key);
    if (!from.empty()) text.append(" from ").append(from);
    if (!to.empty()) text.append(" to ").append(to);
    return text;
  }
  if (!event.entity.empty()) text += " of " + event.entity;
  std::vector<std::string> parts;
  for (const auto& [name, value] : event.attributes)
    parts.push_back(spaces_for_underscores(name) + " " + value);
  if (!parts.empty()) text += ": " + list_text(parts, 4);
  return text;
}

std::string change_before_onset(const Report& report) {
  const auto& onset = report.attribution.onset;
  if (!onset || onset->time == kNoTime) return {};
  const Event* last = nullptr;
  for (const auto& e : report.events)
    if (is_change(e) && e.start != kNoTime && e.start <= onset->time &&
        (last == nullptr || e.start >= last->start))
      last = &e;
  if (last == nullptr) return {};
  const double ago = (static_cast<double>(onset->time) - static_cast<double>(last->start)) / 1e9;
  return (ago < 1e-3 ? "At the onset" : firstwait::seconds(ago) + " before the onset") + ": " +
         event_text(*last);
}

std::vector<std::string> also_seen(const Report& report) {
  std::vector<std::string> out;
  for (const auto& o : report.observations) {
    std::string text = capital(o.text);
    if (!o.where.empty() && text.find(o.where) == std::string::npos) {
      const size_t slash = o.where.find('/');
      const std::string named = o.where.substr(0, slash) + " " +
                                (slash == std::string::npos ? "" : o.where.substr(slash + 1));
      if (!contains_ignoring_case(text, named)) text += " (" + o.where + ")";
    }
    if (o.seconds_per_step && *o.seconds_per_step > 0)
      text += (text.ends_with('.') ? " It costs " : "; it costs ") +
              duration(report, *o.seconds_per_step) + " per step";
    if (!text.empty() && !text.ends_with('.')) text += ".";
    out.push_back(text);
  }
  say_outliers(report, out);
  say_episodes(report, out);
  say_straggles(report, out);
  say_offsets(report, out);
  say_groupings(report, out);
  return out;
}

std::vector<std::string> what_if_lines(const Report& report) {
  std::vector<std::string> out;
  if (!report.attribution.what_if) return out;
  const WhatIf& w = *report.attribution.what_if;
  if (!w.refused.empty()) {
    out.push_back("No replay: " + w.refused + ".");
    return out;
  }
  if (std::isfinite(w.slowdown))
    out.push_back(
        fmt::format("The job runs at {} the time it would take without stragglers "
                    "(replay misses the step time by {}).",
                    times(w.slowdown), percent(std::abs(w.replay_error))));
  const auto ranked = [](const std::vector<double>& values, std::string_view name) {
    std::vector<size_t> order(values.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return values[a] > values[b]; });
    std::vector<std::string> items;
    for (const size_t i : order)
      if (std::isfinite(values[i]))
        items.push_back(fmt::format("{} {} {}", name, i, times(values[i])));
    return list_text(items, 3);
  };
  if (const auto text = ranked(w.by_dp_rank, "dp rank"); !text.empty())
    out.push_back("Alone slow: " + text + ".");
  if (const auto text = ranked(w.by_stage, "stage"); !text.empty())
    out.push_back("Alone slow: " + text + ".");
  std::vector<WhatIfShare> ops = w.by_op;
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& a, const auto& b) { return a.slowdown > b.slowdown; });
  std::vector<std::string> items;
  for (const auto& op : ops)
    if (std::isfinite(op.slowdown)) items.push_back(op.name + " " + times(op.slowdown));
  if (!items.empty()) out.push_back("Alone slow: " + list_text(items, 3) + ".");
  if (!w.top.empty() && std::isfinite(w.worker_share_removal)) {
    std::vector<std::string> workers;
    for (const auto& t : w.top)
      workers.push_back(fmt::format("dp {} stage {}", t.dp_rank, t.stage));
    out.push_back(
        fmt::format("Slowest {} ({}): removing it takes {} of the loss, alone it makes {}.",
                    w.top.size() == 1 ? "worker" : "workers", list_text(workers, 3),
                    percent(w.worker_share_removal), percent(w.worker_share_addback)));
  }
  if (std::isfinite(w.stage_share_removal))
    out.push_back(fmt::format("Last stage: removing it takes {} of the loss, alone it makes {}.",
                              percent(w.stage_share_removal), percent(w.stage_share_addback)));
  return out;
}

std::string recovery_line(const Report& report) {
  std::vector<std::string> parts;
  const Recovery& r = report.recovery;
  if (r.last_good_step)
    parts.push_back("last good checkpoint at step " + with_thousands(*r.last_good_step));
  if (r.gpu_hours_at_risk && std::isfinite(*r.gpu_hours_at_risk))
    parts.push_back(three_digits(*r.gpu_hours_at_risk) + " GPU h at risk");
  if (r.failed_saves)
    parts.push_back(with_thousands(*r.failed_saves) +
                    (*r.failed_saves == 1 ? " failed save" : " failed saves"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<const Untested*> untested_by_relevance(const Report& report) {
  std::vector<const Untested*> out;
  for (const auto& u : report.untested) out.push_back(&u);
  std::stable_partition(out.begin(), out.end(), [](const Untested* u) { return u->relevant; });
  return out;
}

namespace {

std::string family(std::string_view cause) { return std::string(cause.substr(0, cause.find('.'))); }

}  // namespace

std::vector<Rival> refuted_rivals(const Report& report) {
  std::vector<Rival> out;
  for (const auto& r : report.ruled_out) out.push_back({{r.cause}, refusal(r), false});
  return out;
}

std::vector<Rival> untested_rivals(const Report& report) {
  constexpr size_t kMostNeeds = 2;
  std::vector<Rival> out;
  for (const auto* u : untested_by_relevance(report))
    out.push_back({{u->cause},
                   u->needs.empty() ? "" : "needs " + comma_text(u->needs, kMostNeeds),
                   u->relevant});
  return out;
}

std::vector<Rival> grouped(const std::vector<Rival>& rivals) {
  std::vector<Rival> out;
  for (const auto& r : rivals) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Rival& o) {
      return o.text == r.text && o.relevant == r.relevant &&
             family(o.causes[0]) == family(r.causes[0]);
    });
    if (same == out.end()) {
      out.push_back(r);
    } else {
      same->causes.push_back(r.causes[0]);
    }
  }
  return out;
}

std::string group_name(const std::vector<std::string>& causes) {
  if (causes.size() == 1) return causes[0];
  if (causes.size() > 2) return fmt::format("{}.* ({} causes)", family(causes[0]), causes.size());
  return causes[0] + ", " + causes[1].substr(family(causes[1]).size());
}

std::string folded_text(const std::vector<std::string>& causes, bool others) {
  std::vector<std::pair<std::string, size_t>> families;
  for (const auto& cause : causes) {
    const auto at = std::find_if(families.begin(), families.end(),
                                 [&](const auto& f) { return f.first == family(cause); });
    if (at == families.end()) {
      families.emplace_back(family(cause), 1);
    } else {
      ++at->second;
    }
  }
  std::stable_sort(families.begin(), families.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [name, count] : families) parts.push_back(fmt::format("{} {}", name, count));
  return fmt::format("{} untested, with what each needs in the JSON and HTML: {}",
                     others ? counted(causes.size(), "other", "others")
                            : with_thousands(static_cast<int64_t>(causes.size())),
                     comma_text(parts, parts.size()));
}

std::string health_sentence(const HealthEntry& e) {
  const std::string_view severity = e.counter->severity == Severity::info    ? "Note"
                                    : e.counter->severity == Severity::error ? "Error"
                                                                             : "Data lost";
  std::string text =
      fmt::format("{}: {} {}×", severity, spaces_for_underscores(e.counter->name),
                  with_thousands(static_cast<int64_t>(std::min<uint64_t>(e.count, INT64_MAX))));
  if (!e.source.empty()) text += " in " + e.source;
  if (!e.first_place.empty()) text += ", first at " + e.first_place;
  text += ". " + capital(std::string(e.counter->remedy));
  return text.ends_with('.') ? text : text + ".";
}

std::vector<const HealthEntry*> health_by_severity(const std::vector<HealthEntry>& entries) {
  std::vector<const HealthEntry*> out;
  for (const auto& e : entries)
    if (e.counter != nullptr) out.push_back(&e);
  std::stable_sort(out.begin(), out.end(), [](const HealthEntry* a, const HealthEntry* b) {
    return a->counter->severity > b->counter->severity;
  });
  return out;
}

std::string input_summary(const Report& report) {
  size_t notes = 0, errors = 0, losses = 0;
  for (const auto* e : health_by_severity(report.input_health)) {
    (e->counter->severity == Severity::info    ? notes
     : e->counter->severity == Severity::error ? errors
                                               : losses)++;
  }
  std::string text =
      counted(report.sources.size(), "file", "files") + ", " + counted(errors, "error", "errors");
  if (losses > 0) text += ", " + counted(losses, "loss of data", "losses of data");
  text += ", " + counted(notes, "note", "notes");
  text += fmt::format(" · evidence: {}",
                      kEvidenceLevelNames[static_cast<size_t>(report.attribution.level)]);
  if (std::isfinite(report.attribution.replay_error))
    text += " · replay error " + percent(std::abs(report.attribution.replay_error));
  return text;
}

bool is_useless(const Action& action) {
  return std::isfinite(action.speedup.hi) && times(action.speedup.hi) == "1.0×";
}

bool has_baseline(const Report& report) {
  return std::any_of(report.attribution.ledger.begin(), report.attribution.ledger.end(),
                     [](const LedgerRow& r) { return r.before.has_value(); });
}

double step_seconds(const Report& report) {
  if (std::isfinite(report.attribution.current_s)) return report.attribution.current_s;
  if (report.attribution.ledger.empty()) return kNaN;
  double sum = 0;
  for (const auto& row : report.attribution.ledger) sum += row.seconds;
  return sum;
}

std::optional<double> baseline_seconds(const Report& report) {
  if (std::isfinite(report.attribution.baseline_s)) return report.attribution.baseline_s;
  return std::nullopt;
}

}  // namespace firstwait
