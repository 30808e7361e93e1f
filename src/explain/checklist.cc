#include "explain/checklist.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/numbers.h"

namespace firstwait {
namespace {

constexpr std::array<std::string_view, 7> kNames = {
    "workload pattern", "workers compared", "network",   "storage",
    "preprocessing",    "physical",         "contention"};
constexpr double kPossible = 0.5;

std::string pattern_summary(const Attribution& a) {
  const auto& p = a.pattern;
  switch (p.kind) {
    case PatternKind::step:
    case PatternKind::drift:
      if (!a.onset) break;
      return fmt::format("{} at step {}", p.kind == PatternKind::step ? "step change" : "drift",
                         with_thousands(a.onset->step));
    case PatternKind::periodic:
      if (p.period_steps)
        return fmt::format("every {} steps, one takes {} as long", with_thousands(*p.period_steps),
                           times(p.period_ratio));
      break;
    case PatternKind::intermittent:
      return fmt::format("{} isolated slow {} of {}", a.outliers.size(),
                         a.outliers.size() == 1 ? "step" : "steps",
                         with_thousands(static_cast<int64_t>(a.steps.size())));
    case PatternKind::chronic:
      return "slow throughout, no onset";
    case PatternKind::none:
      break;
  }
  if (a.steps.size() == 0) return "no step times";
  return fmt::format("no change over {} steps",
                     with_thousands(static_cast<int64_t>(a.steps.size())));
}

ChecklistRow pattern_row(const View& view) {
  const auto& a = view.attribution;
  ChecklistRow row;
  row.summary = pattern_summary(a);
  if (a.steps.size() == 0) return row;
  row.status = a.pattern.kind == PatternKind::none ? CheckStatus::clear : CheckStatus::suspect;
  return row;
}

ChecklistRow workers_row(const View& view) {
  const auto& a = view.attribution;
  ChecklistRow row;
  if (!a.straggles.empty()) {
    const auto& s = a.straggles.front();
    row.status = CheckStatus::suspect;
    row.summary =
        fmt::format("rank {} late, steps {} to {}, {}", s.rank, with_thousands(s.first_step),
                    with_thousands(s.last_step), times(s.mean_ratio));
    return row;
  }
  if (!a.offsets.empty()) {
    const auto worst =
        std::max_element(a.offsets.begin(), a.offsets.end(),
                         [](const auto& x, const auto& y) { return x.ratio < y.ratio; });
    row.status = CheckStatus::clear;
    row.summary = fmt::format("standing offsets only; rank {} {} of the median", worst->rank,
                              percent(worst->ratio));
    return row;
  }
  if (a.rank_stats.size() < 2) {
    row.summary = a.ranks.ranks.size() == 1 || a.rank_stats.size() == 1
                      ? "one rank only: no peers to compare"
                      : "no ranks recorded";
    return row;
  }
  double lo = kNaN, hi = kNaN;
  for (const auto& r : a.rank_stats) {
    if (!(r.ratio_to_peers == r.ratio_to_peers)) continue;
    if (!(lo <= r.ratio_to_peers)) lo = r.ratio_to_peers;
    if (!(hi >= r.ratio_to_peers)) hi = r.ratio_to_peers;
  }
  if (!(hi >= lo)) {
    row.summary = "ranks cannot be compared";
    return row;
  }
  row.status = CheckStatus::clear;
  row.summary = fmt::format("all {} alike, spread {}", a.rank_stats.size(), percent(hi - lo));
  return row;
}

}  // namespace

std::vector<ChecklistRow> checklist(const View& view, const std::vector<Tested>& tested,
                                    const std::vector<Finding>& findings) {
  std::vector<ChecklistRow> rows;
  for (int step = 1; step <= 7; ++step) {
    ChecklistRow row;
    if (step == 1) row = pattern_row(view);
    if (step == 2) row = workers_row(view);
    row.step = step;
    row.name = kNames[static_cast<size_t>(step - 1)];
    const auto found = std::find_if(findings.begin(), findings.end(), [step](const Finding& f) {
      return f.checklist_step == step && f.confidence >= kPossible;
    });
    if (found != findings.end()) {
      row.status = CheckStatus::suspect;
      row.begins_here = found == findings.begin();
      row.summary = found->title;
      rows.push_back(std::move(row));
      continue;
    }
    if (step > 2) {
      const Tested* clear = nullptr;
      const Tested* open = nullptr;
      size_t refuted_count = 0, untested_count = 0;
      for (const auto& t : tested) {
        if (t.hypothesis->checklist_step != step) continue;
        if (t.verdict.outcome == Outcome::refuted) {
          // That nothing changed clears nothing: what is slow may have been so from the start.
          if (t.hypothesis->id.starts_with("change.")) continue;
          ++refuted_count;
          if (clear == nullptr || t.verdict.llr < clear->verdict.llr) clear = &t;
        } else if (t.verdict.outcome == Outcome::untested) {
          ++untested_count;
          if (open == nullptr) open = &t;
        }
      }
      if (clear != nullptr) {
        row.status = CheckStatus::clear;
        row.summary = clear->verdict.reason;
        if (untested_count > refuted_count)
          row.summary += fmt::format("; {} untested", untested_count);
      } else if (open != nullptr && !open->verdict.needs.empty()) {
        row.summary = "needs " + open->verdict.needs.front();
      } else {
        row.summary = "nothing recorded";
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<NextMeasurement> next_measurements(EvidenceLevel level,
                                               const std::vector<Untested>& untested) {
  std::map<std::string, NextMeasurement> by_need;
  std::vector<std::string> order;
  for (const bool relevant : {true, false}) {
    for (const auto& u : untested) {
      if (u.relevant != relevant || u.needs.empty()) continue;
      if (!relevant && !by_need.contains(u.needs.front()))
        continue;  // decides nothing that matters here
      auto [it, fresh] = by_need.try_emplace(u.needs.front(), NextMeasurement{u.needs.front(), {}});
      if (fresh) order.push_back(u.needs.front());
      it->second.decides.push_back(u.cause);
    }
  }
  std::vector<NextMeasurement> out;
  for (const auto& need : order) out.push_back(by_need[need]);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.decides.size() > b.decides.size();
  });
  // Step times alone cannot say what a step consists of: that comes before any single signal.
  if (level == EvidenceLevel::steps) {
    NextMeasurement phases{"a profiler trace of a few steps, or step phases", {}};
    for (const auto& u : untested)
      if (u.relevant) phases.decides.push_back(u.cause);
    out.insert(out.begin(), std::move(phases));
  } else if (level == EvidenceLevel::none || level == EvidenceLevel::metrics) {
    out.insert(out.begin(), {"step times: a training log, or a profiler trace", {}});
  }
  if (out.size() > 6) out.resize(6);
  return out;
}

}  // namespace firstwait
