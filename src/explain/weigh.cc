#include "explain/weigh.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/numbers.h"

namespace firstwait {

Stake stake(const View& view, std::span<const Phase> phases) {
  Stake s;
  const auto& a = view.attribution;
  double step = 0, unexplained = 0, now = 0, before = 0, largest = -1;
  bool recorded = false, has_before = !a.baseline.empty;
  for (const auto& r : a.ledger) {
    step += r.seconds;
    if (r.phase == Phase::unexplained) unexplained = r.seconds;
    if (std::find(phases.begin(), phases.end(), r.phase) == phases.end()) continue;
    recorded = true;
    now += r.seconds;
    if (r.before)
      before += *r.before;
    else
      has_before = false;
    if (r.seconds > largest) {
      largest = r.seconds;
      s.phase = r.phase;
    }
  }
  if (!(step > 0)) return s;
  // A phase that is missing while much is unexplained may simply not have been recorded.
  if (!recorded && unexplained > kRelevantShare.value * step) return s;
  if (!recorded && !phases.empty()) s.phase = phases.front();
  s.now_s = now;
  s.share = now / step;
  if (has_before && recorded) s.before_s = before;
  s.excess_s = has_before && recorded ? std::max(0.0, now - before) : now;
  s.state = s.excess_s >= kRelevantShare.value * step ? Stake::State::present : Stake::State::clear;
  return s;
}

std::string_view phase_words(Phase phase) {
  switch (phase) {
    case Phase::input_wait:
      return "input wait";
    case Phase::h2d:
      return "copying to the device";
    case Phase::collective:
      return "collective time";
    case Phase::p2p:
      return "point-to-point time";
    case Phase::checkpoint:
      return "saving";
    case Phase::evaluation:
      return "evaluation";
    case Phase::gc:
      return "garbage collection";
    case Phase::logging:
      return "logging";
    case Phase::compile:
      return "compilation";
    case Phase::host:
      return "host time";
    case Phase::unexplained:
      return "time that no record explains";
    default:
      return name(phase);
  }
}

std::string change_text(double before, double now) { return change_text(before, now, "s"); }

Weighing& Weighing::supports(double llr, EvidenceRow row) {
  decided_ = true;
  for_ += llr;
  row.supports = true;
  v_.evidence.push_back(std::move(row));
  return *this;
}

Weighing& Weighing::hints(double llr, EvidenceRow row) {
  hints_ += llr;
  row.supports = true;
  v_.evidence.push_back(std::move(row));
  return *this;
}

Weighing& Weighing::contradicts(double llr, std::string reason, EvidenceRow row) {
  contradicted_ = true;
  against_ += llr;
  if (llr > strongest_) {
    strongest_ = llr;
    v_.reason = std::move(reason);
  }
  row.supports = false;
  v_.evidence.push_back(std::move(row));
  return *this;
}

bool Weighing::gate(const Stake& s) {
  stake_ = s;
  if (s.state == Stake::State::unknown) {
    against_ += kWeak;
    return true;
  }
  EvidenceRow r = fact(std::string(phase_words(s.phase)), fmt::format("ledger.{}", name(s.phase)),
                       "", s.now_s, "s/step", s.state == Stake::State::present, s.before_s);
  if (s.state == Stake::State::present) {
    v_.evidence.push_back(std::move(r));
    return true;
  }
  std::string reason =
      s.before_s == s.before_s && s.share >= kRelevantShare.value
          ? fmt::format("{} did not grow: {}", phase_words(s.phase),
                        change_text(s.before_s, s.now_s))
          : fmt::format("{} is {} of the step", phase_words(s.phase), percent(s.share));
  contradicts(kVeryStrong, std::move(reason), std::move(r));
  return false;
}

Weighing& Weighing::where(std::string entity) {
  if (!entity.empty() && std::find(v_.where.begin(), v_.where.end(), entity) == v_.where.end())
    v_.where.push_back(std::move(entity));
  return *this;
}

Weighing& Weighing::link(std::string what, std::string at, std::string value) {
  v_.chain.push_back({std::move(what), std::move(at), std::move(value)});
  return *this;
}

double Weighing::llr() const { return decided_ ? for_ + hints_ - against_ : -against_; }

Verdict Weighing::verdict(std::string because, std::initializer_list<std::string_view> needs) && {
  v_.llr = llr();
  if (decided_ && v_.llr > 0) {
    v_.outcome = Outcome::supported;
    v_.because = std::move(because);
    v_.reason.clear();
    if (stake_.excess_s > 0) v_.effect = Effect{stake_.excess_s, {kNaN, stake_.excess_s}};
    return std::move(v_);
  }
  if (contradicted_) {
    v_.outcome = Outcome::refuted;
    v_.chain.clear();
    return std::move(v_);
  }
  return untested(needs);
}

EvidenceRow fact(std::string text, std::string metric, std::string entity, double now,
                 std::string unit, bool for_it, double before) {
  return {std::move(text), std::move(metric), std::move(entity),
          known(before),   known(now),        std::move(unit),
          for_it};
}

std::vector<SettingChange> setting_changes(const View& view, std::string_view prefix) {
  std::map<std::pair<std::string_view, std::string_view>, std::vector<const Setting*>> rows;
  for (const auto& s : view.evidence.settings)
    if (s.time != kNoTime && std::string_view(s.key).starts_with(prefix))
      rows[{s.entity, s.key}].push_back(&s);
  std::vector<SettingChange> out;
  for (auto& [key, list] : rows) {
    std::stable_sort(list.begin(), list.end(),
                     [](const auto* a, const auto* b) { return a->time < b->time; });
    for (size_t i = 1; i < list.size(); ++i)
      if (list[i]->value != list[i - 1]->value) out.push_back({list[i - 1], list[i]});
  }
  return out;
}

namespace {
double seconds_between(Ns from, Ns to) {
  return (static_cast<double>(to) - static_cast<double>(from)) * 1e-9;
}
double baseline_span_s(const View& view) {
  const auto& b = view.attribution.baseline;
  return b.empty || b.from == kNoTime || b.to == kNoTime ? kNaN : seconds_between(b.from, b.to);
}
}  // namespace

double onset_tolerance_s(const View& view) {
  constexpr double kScrape = 60;
  const auto& onset = view.attribution.onset;
  if (!onset) return kScrape;
  const double steps =
      std::max(0.0, static_cast<double>(onset->step_hi) - static_cast<double>(onset->step_lo));
  const double own = onset->after_s > 0 ? steps * onset->after_s : 0;
  const double span = baseline_span_s(view);
  return span > 0 ? std::clamp(own, kScrape, std::max(kScrape, span / 20)) : std::max(own, kScrape);
}

double coincidence_llr(const View& view) {
  const double span = baseline_span_s(view);
  if (!(span > 0)) return kWeak;
  return std::clamp(std::log(span / onset_tolerance_s(view)), 0.0, kPositive);
}

bool at_onset(const View& view, Ns time) {
  const auto& onset = view.attribution.onset;
  if (!onset || onset->time == kNoTime || time == kNoTime) return false;
  const double lead = seconds_between(time, onset->time), tolerance = onset_tolerance_s(view);
  return lead <= tolerance && lead >= -0.1 * tolerance;
}

}  // namespace firstwait
