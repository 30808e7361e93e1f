// The one axis that all charts of a page share, and the columns into which steps fall when they are
// too many.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "model/verdict.h"

namespace firstwait {

// x runs from 0 to 1000.
class Axis {
 public:
  explicit Axis(const Report& report);

  bool by_time() const { return by_time_; }
  bool absolute() const { return absolute_; }  // times count from the Unix epoch
  bool empty() const { return steps_ == nullptr || steps_->size() == 0; }
  double x(Ns time) const;           // NaN without a time axis
  double x_of_step(size_t i) const;  // where the i-th step begins
  double x_end_of_step(size_t i) const;
  double onset_x(const Report& report) const;  // NaN when there is none on the axis

  struct Tick {
    double x;
    std::string text;
  };
  std::vector<Tick> ticks(const Report& report) const;
  std::string unit() const;  // "UTC, 18 Nov 2026", "seconds from the start", "step"

 private:
  const JobSteps* steps_ = nullptr;
  bool by_time_ = false, absolute_ = false;
  double from_ = 0, span_ = 1;  // ns
};

// Steps [first, last] drawn as one column; `worst` is the slowest of them.
struct AxisColumn {
  double x0, x1;
  size_t first, last, worst;
};
// At most `most` columns; one for each step when they fit.
std::vector<AxisColumn> axis_columns(const Axis& axis, const JobSteps& steps, size_t most);

// A round distance between ticks such that `span` holds at most `most` of them.
double round_step(double span, int most);

}  // namespace firstwait
