#include "present/html_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "present/numbers.h"

namespace firstwait {

Axis::Axis(const Report& report) : steps_(&report.attribution.steps) {
  const JobSteps& s = *steps_;
  absolute_ = report.start != kNoTime;
  if (s.size() == 0 || s.start.size() != s.size() || s.time.size() != s.size()) return;
  for (size_t i = 0; i < s.size(); ++i)
    if (s.start[i] == kNoTime || (i > 0 && s.start[i] < s.start[i - 1])) return;
  from_ = static_cast<double>(s.start.front());
  double to = from_;
  for (size_t i = 0; i < s.size(); ++i)
    to = std::max(to,
                  static_cast<double>(s.start[i]) + std::max(0.0, static_cast<double>(s.time[i])));
  span_ = to - from_;
  by_time_ = span_ > 0;
}

double Axis::x(Ns time) const {
  if (!by_time_ || time == kNoTime) return kNaN;
  return (static_cast<double>(time) - from_) / span_ * 1000;
}

double Axis::x_of_step(size_t i) const {
  if (by_time_) return x(steps_->start[i]);
  return static_cast<double>(i) / static_cast<double>(std::max<size_t>(steps_->size(), 1)) * 1000;
}

double Axis::x_end_of_step(size_t i) const {
  if (!by_time_) return x_of_step(i + 1);
  const double start = static_cast<double>(steps_->start[i]);
  const double time = std::max(0.0, static_cast<double>(steps_->time[i]));
  double end = start + time;
  // A pause shorter than the step itself is jitter between records; a longer one is a gap and stays
  // one.
  if (i + 1 < steps_->size()) {
    const double next = static_cast<double>(steps_->start[i + 1]);
    if (next < end || next - end < time) end = next;
  }
  return (end - from_) / span_ * 1000;
}

double Axis::onset_x(const Report& report) const {
  const auto& onset = report.attribution.onset;
  if (!onset || empty()) return kNaN;
  double at = x(onset->time);
  if (!std::isfinite(at)) {
    const auto found = std::find(steps_->step.begin(), steps_->step.end(), onset->step);
    if (found == steps_->step.end()) return kNaN;
    at = x_of_step(static_cast<size_t>(found - steps_->step.begin()));
  }
  return at >= 0 && at <= 1000 ? at : kNaN;
}

double round_step(double span, int most) {
  if (!(span > 0) || !std::isfinite(span)) return 1;
  const double raw = span / most;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0, 10.0})
    if (m * power >= raw * (1 - 1e-9)) return m * power;
  return 10 * power;
}

namespace {

double round_seconds(double span) {
  static constexpr std::array<double, 18> kSteps = {
      1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800};
  for (const double s : kSteps)
    if (span / s <= 8) return s;
  return std::max(1.0, round_step(span / 86400, 8)) * 86400;
}

}  // namespace

std::vector<Axis::Tick> Axis::ticks(const Report& report) const {
  std::vector<Tick> out;
  if (empty()) return out;
  constexpr size_t kMost = 12;
  if (!by_time_) {
    const auto every =
        static_cast<size_t>(std::max(1.0, round_step(static_cast<double>(steps_->size()), 8)));
    for (size_t i = 0; i < steps_->size() && out.size() < kMost; i += every)
      out.push_back({x_of_step(i), with_thousands(steps_->step[i])});
    return out;
  }
  const double span_s = span_ / 1e9;
  if (absolute_) {
    const double every = round_seconds(span_s);
    const double first = std::ceil(from_ / 1e9 / every) * every;
    for (double t = first; t <= from_ / 1e9 + span_s && out.size() < kMost; t += every) {
      if (std::abs(t) > 9e9) break;
      const Ns ns = static_cast<Ns>(t) * 1'000'000'000;
      const std::string clock = utc_clock(ns);
      out.push_back({x(ns), every >= 86400 ? utc_date(ns)
                            : every >= 60  ? clock.substr(0, 5)
                                           : clock});
    }
    if (!out.empty()) return out;
  }
  const double every = round_step(span_s, 8);
  for (int i = 0; i < static_cast<int>(kMost) && i * every <= span_s; ++i)
    out.push_back({i * every / span_s * 1000,
                   report.job.unitless ? three_digits(i * every) : firstwait::seconds(i * every)});
  return out;
}

std::string Axis::unit() const {
  if (!by_time_) return "step";
  if (!absolute_) return "time from the first step";
  return "UTC, " + utc_date(steps_->start.front());
}

std::vector<AxisColumn> axis_columns(const Axis& axis, const JobSteps& steps, size_t most) {
  std::vector<AxisColumn> out;
  const size_t n = steps.size();
  if (n <= most) {
    for (size_t i = 0; i < n; ++i)
      out.push_back({axis.x_of_step(i), axis.x_end_of_step(i), i, i, i});
    return out;
  }
  const double width = 1000.0 / static_cast<double>(most);
  size_t open = most;  // bucket of the column being filled
  for (size_t i = 0; i < n; ++i) {
    const double at = axis.x_of_step(i);
    const auto bucket = std::min(most - 1, static_cast<size_t>(std::max(0.0, at / width)));
    if (bucket != open) {
      out.push_back({static_cast<double>(bucket) * width, 0, i, i, i});
      open = bucket;
    }
    AxisColumn& c = out.back();
    c.last = i;
    if (steps.time[i] > steps.time[c.worst]) c.worst = i;
    c.x1 = std::max(static_cast<double>(bucket + 1) * width, axis.x_end_of_step(i));
  }
  for (size_t i = 0; i + 1 < out.size(); ++i) out[i].x1 = std::min(out[i].x1, out[i + 1].x0);
  return out;
}

}  // namespace firstwait
