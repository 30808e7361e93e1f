#include "present/compare_wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace firstwait {

std::string side_text(const ComparedSide& side) {
  std::string text = side.label;
  if (!side.job.empty() && side.job != side.label) text += " · " + side.job;
  text += fmt::format(" · {} {}", with_thousands(side.steps), side.steps == 1 ? "step" : "steps");
  if (side.ranks > 0)
    text += fmt::format(" · {} {}", with_thousands(side.ranks), side.ranks == 1 ? "rank" : "ranks");
  return text +
         fmt::format(" · evidence: {}", kEvidenceLevelNames[static_cast<size_t>(side.level)]);
}

std::string comparison_headline(const Comparison& c) {
  if (!c.headline.empty()) return c.headline;
  const double ratio = std::isfinite(c.speedup_median) ? c.speedup_median : c.speedup_mean;
  if (!std::isfinite(ratio)) return "Cannot compare: one side has no step times.";
  if (!c.distinguishable) return "Too few steps to tell the two apart.";
  if (!*c.distinguishable) return "Not distinguishable: the difference is within the noise.";
  std::string text = ratio >= 1 ? times(ratio) + " faster after than before"
                                : times(1 / ratio) + " slower after than before";
  text += std::isfinite(c.speedup_median) ? " (medians)" : " (means)";
  if (!c.phases.empty() && c.phases[0].before_s && c.phases[0].after_s) {
    const SecondsColumn column = compared_column(c);
    text += fmt::format(": {} went from {} to {} per step", phase_label(c.phases[0].phase),
                        column.with_unit(*c.phases[0].before_s),
                        column.with_unit(*c.phases[0].after_s));
  }
  return text + ".";
}

std::string certainty_text(const Comparison& c) {
  std::vector<std::string> parts;
  if (std::isfinite(c.speedup_mean)) parts.push_back("mean ratio " + times(c.speedup_mean));
  if (std::isfinite(c.speedup_median)) parts.push_back("median ratio " + times(c.speedup_median));
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (c.speedup_ci.known())
    text += fmt::format("; 95 % interval of the {} {}", c.ci_of.empty() ? "ratio" : c.ci_of,
                        times(c.speedup_ci));
  if (!text.empty()) {
    if (text[0] == 'm') text[0] = 'M';
    text += ".";
  }
  if (std::isfinite(c.p_value))
    text += fmt::format(" {}: p = {:.2g}.", c.test.empty() ? "Test" : c.test, c.p_value);
  if (c.distinguishable) {
    text +=
        *c.distinguishable ? " The two are distinguishable." : " The two are not distinguishable.";
  }
  return text;
}

std::vector<std::string> compared_outliers(const Comparison& c) {
  std::vector<std::string> out;
  const auto add = [&](const ComparedSide& side, std::string_view which) {
    for (const auto& o : side.outliers) {
      std::string text = fmt::format("{}: step {}", which, with_thousands(o.step));
      if (o.rank >= 0) text += fmt::format(" of rank {}", o.rank);
      text += fmt::format(" took {}, {} its neighbours",
                          c.unitless ? three_digits(o.seconds) : firstwait::seconds(o.seconds),
                          times(o.ratio));
      if (o.phase != Phase::unexplained)
        text += fmt::format("; {} grew most", phase_label(o.phase));
      out.push_back(text + ".");
    }
  };
  add(c.before, "Before");
  add(c.after, "After");
  return out;
}

std::vector<std::string> compared_observations(const Comparison& c) {
  std::vector<std::string> out;
  for (const auto& o : c.observations) {
    std::string text = o.text;
    if (!o.where.empty() && text.find(o.where) == std::string::npos) text += " (" + o.where + ")";
    if (!text.ends_with('.')) text += ".";
    out.push_back(std::move(text));
  }
  return out;
}

std::string setting_text(const ComparedSetting& s) {
  const std::string absent(kAbsent);
  std::string text = s.key;
  if (!s.entity.empty()) text += " of " + s.entity;
  return text + ": " + (s.before.empty() ? absent : s.before) + " → " +
         (s.after.empty() ? absent : s.after);
}

std::string predicted_text(const PredictedGain& gain) {
  std::string text = gain.action + ": " + times(gain.speedup);
  if (!gain.verdict.empty()) text += ", " + gain.verdict;
  return text;
}

SecondsColumn compared_column(const Comparison& c) {
  double largest = 0;
  for (const double v : {c.before.mean_s, c.after.mean_s, c.before.median_s, c.after.median_s})
    if (std::isfinite(v)) largest = std::max(largest, v);
  return seconds_column(largest, c.unitless);
}

}  // namespace firstwait
