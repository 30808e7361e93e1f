#include "explain/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/numbers.h"
#include "base/series.h"
#include "base/stats.h"
#include "explain/weigh.h"

namespace firstwait {
namespace {

// Fewer steps than this on a side cannot reach p < 0.05 in a two-sided rank test against as many.
constexpr size_t kLeastSteps = 4;
// With fewer independent values their spread, and with it every error, is a guess: as with peers.
constexpr double kLeastIndependent = 5;
constexpr double kSignificance = 0.05;

ComparedSide side(const CompareInput& input) {
  const auto& a = input.report.attribution;
  ComparedSide s;
  s.label = input.label;
  s.job = input.report.job.id;
  s.ranks = static_cast<int32_t>(input.report.rank_ids.size());
  s.level = a.level;
  s.productive_fraction = a.productive_fraction;
  s.outliers = a.outliers;
  const auto usable = [&](bool steady_only) {
    for (size_t i = 0; i < a.steps.size(); ++i)
      if (!steady_only || a.steps.segment.empty() || a.steps.segment[i] == SegmentKind::steady)
        s.step_s.push_back(static_cast<double>(a.steps.time[i]) * 1e-9);
  };
  usable(true);
  if (s.step_s.empty()) usable(false);
  s.steps = static_cast<int64_t>(s.step_s.size());
  s.mean_s = mean(s.step_s);
  s.median_s = median(s.step_s);
  return s;
}

// How many independent steps the steps of each side are worth.
struct Worth {
  double before = kNaN, after = kNaN;
};

// Interval and verdict from one test. Of the means, which is what a run costs; of the medians where
// rare long steps make the mean more than twice as uncertain.
Worth test_ratio(Comparison& c) {
  const auto& before = c.before.step_s;
  const auto& after = c.after.step_s;
  if (before.size() < kLeastSteps || after.size() < kLeastSteps) return {};
  Estimate b = mean_of_series(before), a = mean_of_series(after);
  const Estimate middle_b = median_of_series(before), middle_a = median_of_series(after);
  const auto relative = [](const Estimate& x, const Estimate& y) {
    return std::hypot(x.error / x.value, y.error / y.value);
  };
  constexpr size_t kEnoughForMedians = 20;
  if (std::min(before.size(), after.size()) >= kEnoughForMedians &&
      relative(b, a) > 2 * relative(middle_b, middle_a) && relative(middle_b, middle_a) > 0) {
    c.ci_of = "median";
    b = middle_b;
    a = middle_a;
  }
  const Worth worth{b.independent, a.independent};
  const RatioTest test = compare_estimates(b, a);
  const auto enough = [](const std::vector<double>& steps, double independent) {
    return independent >= kLeastIndependent || independent == static_cast<double>(steps.size());
  };
  if (!enough(before, worth.before) || !enough(after, worth.after) || std::isnan(test.p))
    return worth;
  c.speedup_ci = {test.low, test.high};
  c.test = "Welch's t on the independent steps";
  c.p_value = test.p;
  c.distinguishable = c.p_value < kSignificance;
  return worth;
}

std::map<Phase, double> phase_means(const Attribution& a) {
  std::map<Phase, double> out;
  const double n = static_cast<double>(a.steps.size());
  for (size_t p = 0; p < kPhases; ++p) {
    const auto& column = a.steps.ledger[p];
    double sum = 0;
    for (const Ns v : column) sum += static_cast<double>(std::max<Ns>(v, 0));
    if (sum > 0 && n > 0) out[static_cast<Phase>(p)] = sum * 1e-9 / n;
  }
  return out;
}

std::vector<ComparedPhase> phases(const Attribution& before, const Attribution& after) {
  const auto b = phase_means(before), a = phase_means(after);
  std::vector<ComparedPhase> out;
  for (size_t p = 0; p < kPhases; ++p) {
    const auto phase = static_cast<Phase>(p);
    ComparedPhase row;
    row.phase = phase;
    const bool recorded_b = before.level >= EvidenceLevel::phases,
               recorded_a = after.level >= EvidenceLevel::phases;
    if (b.contains(phase))
      row.before_s = b.at(phase);
    else if (recorded_b)
      row.before_s = 0;
    if (a.contains(phase))
      row.after_s = a.at(phase);
    else if (recorded_a)
      row.after_s = 0;
    if (row.before_s.value_or(0) > 0 || row.after_s.value_or(0) > 0) out.push_back(row);
  }
  std::stable_sort(out.begin(), out.end(), [](const ComparedPhase& x, const ComparedPhase& y) {
    return std::abs(x.after_s.value_or(0) - x.before_s.value_or(0)) >
           std::abs(y.after_s.value_or(0) - y.before_s.value_or(0));
  });
  return out;
}

std::vector<ComparedSetting> settings(const Evidence& before, const Evidence& after) {
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> all;
  // The two runs are one job to compare, whatever they are called.
  const auto place = [](const Setting& s) {
    return s.entity.starts_with("job/") ? std::string("job") : s.entity;
  };
  for (const auto& s : before.settings) all[{place(s), s.key}].first = s.value;
  for (const auto& s : after.settings) all[{place(s), s.key}].second = s.value;
  std::vector<ComparedSetting> out;
  for (const auto& [key, values] : all)
    if (values.first != values.second)
      out.push_back({key.first, key.second, values.first, values.second});
  return out;
}

std::vector<Symptom> symptoms(const Report& before, const Report& after) {
  std::vector<Symptom> out;
  for (const auto& b : before.symptoms)
    for (const auto& a : after.symptoms)
      if (a.signal == b.signal) out.push_back({a.signal, a.unit, a.shape, b.now, a.now});
  Symptom productive{"productive_fraction", "ratio", "", std::nullopt, std::nullopt};
  if (before.attribution.productive_fraction >= 0)
    productive.before = before.attribution.productive_fraction;
  if (after.attribution.productive_fraction >= 0)
    productive.now = after.attribution.productive_fraction;
  if (productive.before || productive.now) out.push_back(productive);
  return out;
}

std::string devices(const Attribution& a) {
  std::set<std::string> names;
  for (const auto& t : a.traces)
    if (!t.device.empty()) names.insert(t.device);
  std::string out;
  for (const auto& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

double copies(const Attribution& a) {
  double sum = 0, n = 0;
  for (const auto& t : a.traces) {
    if (!(t.copies_per_step >= 0)) continue;
    sum += t.copies_per_step;
    n += 1;
  }
  return n > 0 ? sum / n : kNaN;
}

// What differs between the two besides their step times; it may explain the effect better than the
// change that was meant.
std::vector<Observation> differences(const CompareInput& before, const CompareInput& after) {
  std::vector<Observation> out;
  const auto& b = before.report;
  const auto& a = after.report;
  const std::string device_b = devices(b.attribution), device_a = devices(a.attribution);
  if (!device_b.empty() && !device_a.empty() && device_b != device_a)
    out.push_back({fmt::format("the device differs: {} before, {} after", device_b, device_a), "",
                   std::nullopt});
  if (b.job.world_size > 0 && a.job.world_size > 0 && b.job.world_size != a.job.world_size)
    out.push_back(
        {fmt::format("the job has {} ranks before, {} after", b.job.world_size, a.job.world_size),
         "", std::nullopt});
  const double copies_b = copies(b.attribution), copies_a = copies(a.attribution);
  if (copies_b > 0 && copies_a > 0 && (copies_a / copies_b > 1.5 || copies_b / copies_a > 1.5))
    out.push_back({fmt::format("memory copies per step: {} before, {} after",
                               three_digits(copies_b), three_digits(copies_a)),
                   "", std::nullopt});
  if (b.attribution.level != a.attribution.level)
    out.push_back({fmt::format("the evidence differs: {} before, {} after",
                               kEvidenceLevelNames[static_cast<size_t>(b.attribution.level)],
                               kEvidenceLevelNames[static_cast<size_t>(a.attribution.level)]),
                   "", std::nullopt});
  return out;
}

std::string headline(const Comparison& c, const Worth& worth) {
  if (c.before.steps == 0 || c.after.steps == 0)
    return fmt::format("Cannot compare: no step times {}.",
                       c.before.steps == 0 ? "before" : "after");
  if (!c.distinguishable) {
    if (std::min(c.before.steps, c.after.steps) < static_cast<int64_t>(kLeastSteps))
      return fmt::format("Too few steps to tell: {} before, {} after.", c.before.steps,
                         c.after.steps);
    return fmt::format(
        "Too few independent steps to tell: each resembles the one before it so much that {} steps "
        "before and {} after are worth {:.0f} and {:.0f}.",
        c.before.steps, c.after.steps, worth.before, worth.after);
  }
  if (!*c.distinguishable)
    return "Not distinguishable: the difference is within the noise of the step times.";
  const auto time = [&](double s) { return c.unitless ? three_digits(s) : seconds(s); };
  const bool faster = c.speedup_median > 1;
  std::string out = fmt::format("{} {} in the median, {} in the mean",
                                times(faster ? c.speedup_median : 1 / c.speedup_median),
                                faster ? "faster" : "slower",
                                times(faster ? c.speedup_mean : 1 / c.speedup_mean));
  if (!c.phases.empty() && c.phases.front().phase != Phase::unexplained &&
      c.phases.front().before_s && c.phases.front().after_s) {
    const auto& p = c.phases.front();
    out += fmt::format("; {} went from {} to {} a step", phase_words(p.phase), time(*p.before_s),
                       time(*p.after_s));
  }
  return out + ".";
}

}  // namespace

Comparison compare(const CompareInput& before, const CompareInput& after) {
  Comparison c;
  c.unitless = before.evidence.job.unitless && after.evidence.job.unitless;
  c.before = side(before);
  c.after = side(after);
  Worth worth;
  if (c.before.mean_s > 0 && c.after.mean_s > 0) {
    c.speedup_mean = c.before.mean_s / c.after.mean_s;
    c.speedup_median = c.before.median_s / c.after.median_s;
    worth = test_ratio(c);
  }
  c.phases = phases(before.report.attribution, after.report.attribution);
  c.symptoms = symptoms(before.report, after.report);
  c.settings = settings(before.evidence, after.evidence);
  for (const auto* side_events : {&before.evidence.events, &after.evidence.events})
    for (const auto& e : *side_events)
      if (e.kind.ends_with("_change") || e.kind == "placement") c.events.push_back(e);
  c.observations = differences(before, after);
  // The gain that the first report predicted for its own finding is what the second verifies.
  for (const auto& f : before.report.findings) {
    for (const auto& action : f.actions) {
      if (c.predicted || !(action.speedup.hi > 0)) continue;
      PredictedGain p{action.id, action.speedup, ""};
      if (c.speedup_mean > 0) {
        if (c.speedup_mean > action.speedup.hi * 1.02)
          p.verdict = "more than predicted";
        else if (action.speedup.lo > 0 && c.speedup_mean < action.speedup.lo)
          p.verdict = "less than predicted";
        else
          p.verdict = action.speedup.lo > 0 ? "inside the interval" : "within the bound";
      }
      c.predicted = std::move(p);
    }
  }
  c.input_health = before.report.input_health;
  c.input_health.insert(c.input_health.end(), after.report.input_health.begin(),
                        after.report.input_health.end());
  c.headline = headline(c, worth);
  return c;
}

}  // namespace firstwait
