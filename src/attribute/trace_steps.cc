#include "attribute/trace_steps.h"

#include <algorithm>
#include <numeric>

#include "attribute/trace/timeline.h"

namespace firstwait {
namespace {

double seconds(Ns ns) { return static_cast<double>(ns) * 1e-9; }

// What the device does at an instant. Several streams, and several devices of one rank, count
// together: the rank computes when any of them does.
struct DeviceState {
  bool compute = false, collective = false, p2p = false, h2d = false, other = false;
  bool any() const { return compute || collective || p2p || h2d || other; }
};

// Device activity belongs to the step in whose time it runs, not to the one that launched it: the
// sums then never exceed the step, and work that spills over is counted where somebody may wait for
// it.
class DeviceCursor {
 public:
  explicit DeviceCursor(const RankTrace& t)
      : compute_(t.compute),
        collective_(t.collective),
        p2p_(t.p2p),
        h2d_(t.h2d),
        other_(t.other_device) {}
  DeviceState at(Ns t) {
    return {compute_.active(t), collective_.active(t), p2p_.active(t), h2d_.active(t),
            other_.active(t)};
  }
  Ns next_change(Ns t) const {
    return std::min({compute_.next_change(t), collective_.next_change(t), p2p_.next_change(t),
                     h2d_.next_change(t), other_.next_change(t)});
  }

 private:
  IntervalCursor compute_, collective_, p2p_, h2d_, other_;
};

// Sums over the steps of a rank.
struct Sums {
  Ns time = 0, compute = 0, busy = 0, loader_main = 0, loader_wait = 0, launch_gap = 0, sync = 0,
     h2d = 0;
  Ns collective = 0, exposed = 0;
  Ns device_time = 0;  // of the steps in which the device was recorded
};

// Where only communication beside it is recorded, what the training thread did is not known.
bool tells_main_thread(const RankTrace& trace) {
  return std::any_of(trace.main.begin(), trace.main.end(),
                     [](const HostSpan& s) { return !s.beside; });
}

using PhaseTimes = std::array<Ns, kPhases>;

class StepWalker {
 public:
  StepWalker(const RankTrace& trace, const std::vector<Piece>& pieces)
      : trace_(trace),
        pieces_(pieces),
        device_(trace),
        probe_(trace),
        tells_main_thread_(tells_main_thread(trace)),
        autograd_(nodes(trace)),
        nodes_(autograd_),
        host_collectives_(trace.host_collectives) {}

  // Steps must come in time order.
  PhaseTimes walk(const StepWindow& step) {
    PhaseTimes times{};
    recorded_ = trace_.has_device() &&
                (probe_.at(step.start).any() || probe_.next_change(step.start) < step.end);
    body_end_ = step.body_end;
    uncovered_ = 0;
    sums_.time += step.end - step.start;
    if (recorded_) sums_.device_time += step.end - step.start;
    while (at_ < pieces_.size() && pieces_[at_].end <= step.start) ++at_;
    Ns t = step.start;
    for (size_t i = at_; t < step.end; ++i) {
      const bool behind = i >= pieces_.size() || pieces_[i].start >= step.end;
      const Ns gap_end = behind ? step.end : pieces_[i].start;
      if (gap_end > t) piece(Piece{}, t, gap_end, times);
      if (behind) break;
      t = std::max(t, pieces_[i].start);
      const Ns end = std::min(pieces_[i].end, step.end);
      piece(pieces_[i], t, end, times);
      t = end;
    }
    return times;
  }
  const Sums& sums() const { return sums_; }
  // Of the step walked last: time behind its end that no record covers.
  Ns uncovered() const { return uncovered_; }

 private:
  static Intervals nodes(const RankTrace& trace) {
    Intervals list = trace.autograd;
    for (const HostSpan& s : trace.main)
      if (s.name == TraceName::autograd) list.push_back({s.start, s.end});
    make_union(list);
    return list;
  }

  void piece(const Piece& p, Ns from, Ns to, PhaseTimes& times) {
    while (from < to) {
      const DeviceState device = device_.at(from);
      const bool node = nodes_.active(from), communicating = host_collectives_.active(from);
      Ns end = std::min(to, device_.next_change(from));
      if (!trace_.host_collectives.empty())
        end = std::min({end, nodes_.next_change(from), host_collectives_.next_change(from)});
      const Ns length = end - from;
      const Phase phase =
          recorded_ ? with_device(p, device) : without_device(p, node, communicating);
      times[index(phase)] += length;
      if (phase == Phase::unexplained)
        uncovered_ += std::max<Ns>(0, end - std::max(from, body_end_));
      if (is_compute(p.phase)) recent_ = p.phase;
      add(p, device, phase, length);
      from = end;
    }
  }

  // What the training thread waits for or does, while the device is in this state.
  Phase with_device(const Piece& p, const DeviceState& device) const {
    if (is_firm(p.phase)) return p.phase;
    // Running kernels are what everything else waits for; the thread may already be ahead of them.
    if (device.compute) return is_compute(p.phase) ? p.phase : recent_;
    if (device.collective) return Phase::collective;
    if (device.p2p) return Phase::p2p;
    if (device.h2d) return Phase::h2d;
    if (device.other && is_compute(p.phase)) return p.phase;
    // The device has nothing to do: Python and launching hold it up, unless no record says so.
    if (p.phase == Phase::collective) return Phase::collective;
    return p.covered || is_compute(p.phase) ? Phase::host : Phase::unexplained;
  }

  Phase without_device(const Piece& p, bool node, bool communicating) const {
    // Inside backward the thread only waits when its nodes are recorded and none of them runs.
    const bool idle =
        p.covered ? p.phase == Phase::backward && !autograd_.empty() : tells_main_thread_;
    if (communicating && !node && idle) return Phase::collective;
    if (p.phase != Phase::unexplained) return p.phase;
    return p.covered ? Phase::host : Phase::unexplained;
  }

  void add(const Piece& p, const DeviceState& device, Phase phase, Ns length) {
    // Loading beside which the device computes holds nothing up, and is not in the ledger either.
    if (p.phase == Phase::input_wait && phase == Phase::input_wait)
      (p.loader == LoaderKind::main_thread ? sums_.loader_main : sums_.loader_wait) += length;
    if (p.sync) sums_.sync += length;
    if (!recorded_) return;
    if (device.compute) sums_.compute += length;
    if (device.any()) sums_.busy += length;
    if (device.h2d) sums_.h2d += length;
    if (device.collective || device.p2p) {
      sums_.collective += length;
      if (!device.compute) sums_.exposed += length;
    }
    if (!device.any() && phase == Phase::host) sums_.launch_gap += length;
  }

  const RankTrace& trace_;
  const std::vector<Piece>& pieces_;
  DeviceCursor device_, probe_;
  bool tells_main_thread_;
  Intervals autograd_;
  IntervalCursor nodes_, host_collectives_;
  Sums sums_;
  size_t at_ = 0;
  Ns body_end_ = 0, uncovered_ = 0;
  bool recorded_ = false;           // the device was recorded in this step
  Phase recent_ = Phase::backward;  // what the training thread last computed
};

// Whether a step lies around each time; `times` in any order.
class InSteps {
 public:
  explicit InSteps(const std::vector<StepWindow>& steps) : steps_(steps) {}
  bool operator()(Ns t) const {
    auto next = std::upper_bound(steps_.begin(), steps_.end(), t,
                                 [](Ns at, const StepWindow& s) { return at < s.start; });
    return next != steps_.begin() && t < std::prev(next)->end;
  }
  double per_step(const std::vector<Ns>& times) const {
    const auto n = std::count_if(times.begin(), times.end(), *this);
    return static_cast<double>(n) / static_cast<double>(steps_.size());
  }

 private:
  const std::vector<StepWindow>& steps_;
};

double median_seconds(std::vector<Ns> durations) {
  if (durations.empty()) return kNaN;
  const auto middle = durations.begin() + static_cast<ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return seconds(*middle);
}

void add_copy_facts(const RankTrace& trace, const InSteps& in_steps, double steps,
                    TraceFacts& facts) {
  facts.copies_per_step = in_steps.per_step(trace.copies.start);
  double bytes = 0, pageable = 0, copies = 0;
  bool known = true;
  for (size_t i = 0; i < trace.copies.h2d_start.size(); ++i) {
    if (!in_steps(trace.copies.h2d_start[i])) continue;
    const int64_t n = trace.copies.h2d_bytes[i];
    if (n < 0) known = false;
    bytes += static_cast<double>(std::max<int64_t>(n, 0));
    copies += static_cast<double>(std::max<int64_t>(n, 1));
    if (trace.copies.h2d_pageable[i] != 0) pageable += static_cast<double>(std::max<int64_t>(n, 1));
  }
  if (known) facts.h2d_bytes = bytes / steps;
  facts.h2d_pageable = 2 * pageable > copies;  // most of the bytes
}

std::string device_model(const Evidence& evidence, int32_t rank) {
  const std::string entity = "rank/" + std::to_string(rank);
  for (const Setting& s : evidence.settings)
    if (s.key == "gpu.model" && s.entity == entity) return s.value;
  return {};
}

TraceFacts facts_of(const Evidence& evidence, const RankTrace& trace,
                    const std::vector<StepWindow>& steps, const Sums& sums,
                    const PhaseTimes& phases) {
  TraceFacts f;
  f.rank = trace.rank;
  f.steps = static_cast<int32_t>(steps.size());
  f.has_gpu = trace.has_device();
  f.loader_in_main_thread = trace.saw(TraceName::loader_single);
  f.loader_workers_seen = trace.saw(TraceName::loader_multi);
  f.device = device_model(evidence, trace.rank);
  if (!trace.kernel_duration.empty()) f.median_kernel_s = median_seconds(trace.kernel_duration);
  if (steps.empty()) return f;
  const double n = static_cast<double>(steps.size());
  const auto mean = [&](Ns total) { return seconds(total) / n; };
  const InSteps in_steps(steps);
  if (trace.saw(Phase::input_wait)) {
    f.loader_main_thread_s = mean(sums.loader_main);
    f.loader_wait_s = mean(sums.loader_wait);
  }
  f.sync_s = mean(sums.sync);
  f.item_calls_per_step = 0;
  std::vector<Ns> items;
  for (const HostSpan& s : trace.main)
    if (s.name == TraceName::item) items.push_back(s.start);
  f.item_calls_per_step = in_steps.per_step(items);
  if (trace.saw(Phase::gc)) f.gc_s = mean(phases[index(Phase::gc)]);
  if (trace.saw(Phase::checkpoint)) f.checkpoint_s = mean(phases[index(Phase::checkpoint)]);
  if (trace.saw(Phase::compile)) f.compile_s = mean(phases[index(Phase::compile)]);
  if (!f.has_gpu || sums.device_time == 0) return f;
  f.productive_fraction = static_cast<double>(sums.compute) / static_cast<double>(sums.device_time);
  f.gpu_busy_fraction = static_cast<double>(sums.busy) / static_cast<double>(sums.device_time);
  f.kernels_per_step = in_steps.per_step(trace.kernel_start);
  f.launch_gap_s = mean(sums.launch_gap);
  f.h2d_copy_s = mean(sums.h2d);
  f.collective_kernel_s = mean(sums.collective);
  f.collective_exposed_s = mean(sums.exposed);
  add_copy_facts(trace, in_steps, n, f);
  return f;
}

// A phase of which the trace holds no record at all is absent, not zero.
bool recorded(const RankTrace& trace, Phase phase) {
  switch (phase) {
    case Phase::unexplained:
      return false;  // the rest of the step
    case Phase::host:
      return true;
    case Phase::collective:
      return !trace.collective.empty() ||
             (!trace.host_collectives.empty() && tells_main_thread(trace));
    case Phase::p2p:
      return !trace.p2p.empty();
    case Phase::h2d:
      return !trace.h2d.empty();
    default:
      return trace.saw(phase);
  }
}

void append_steps(const RankTrace& trace, NameId job, const StepWindow& window,
                  const PhaseTimes& times, StepTable& steps) {
  const size_t row =
      steps.append(job, trace.rank, window.step, window.start, window.end - window.start);
  for (size_t p = 0; p < kPhases; ++p) {
    const Phase phase = static_cast<Phase>(p);
    if (phase == Phase::unexplained) continue;
    if (times[p] > 0 || recorded(trace, phase)) steps.set_phase(row, phase, times[p]);
  }
}

}  // namespace

TraceSteps trace_steps(const Evidence& evidence) {
  TraceSteps out;
  const NameId job = evidence.names.find(evidence.job.id);
  for (const RankTrace& trace : rank_traces(evidence)) {
    const std::vector<StepWindow> steps = find_steps(trace, evidence.names);
    const std::vector<Piece> pieces = main_timeline(trace, steps);
    StepWalker walker(trace, pieces);
    PhaseTimes total{};
    for (const StepWindow& step : steps) {
      const PhaseTimes times = walker.walk(step);
      for (size_t p = 0; p < kPhases; ++p) total[p] += times[p];
      append_steps(trace, job, step, times, out.steps);
      out.between.push_back(walker.uncovered());
    }
    out.facts.push_back(facts_of(evidence, trace, steps, walker.sums(), total));
  }
  return out;
}

}  // namespace firstwait
