#include "attribute/trace/rank_trace.h"

#include <set>

#include "base/saturate.h"

namespace firstwait {
namespace {

// Meanings of names, each looked up once.
class Meanings {
 public:
  explicit Meanings(const Names& names) : names_(names), known_(names.size(), kUnknown) {}
  TraceName of(NameId id) {
    uint8_t& known = known_[id];
    if (known == kUnknown) known = static_cast<uint8_t>(classify_trace_name(names_[id]));
    return static_cast<TraceName>(known);
  }

 private:
  static constexpr uint8_t kUnknown = 255;
  const Names& names_;
  std::vector<uint8_t> known_;
};

bool is_usable(const SpanTable& spans, size_t i) {
  return spans.start[i] >= kEarliestTime && spans.start[i] <= kLatestTime && spans.duration[i] >= 0;
}
TimeInterval interval_of(const SpanTable& spans, size_t i) {
  return {spans.start[i], std::min(sat_add(spans.start[i], spans.duration[i]), kLatestTime)};
}

void add_host(RankTrace& trace, const SpanTable& spans, size_t i, TraceName name) {
  Phase phase = phase_of(name);
  if (phase == Phase::unexplained) phase = spans.phase[i];
  trace.seen_phases |= 1u << index(phase);
  trace.seen_names |= 1u << static_cast<unsigned>(name);
  const TimeInterval interval = interval_of(spans, i);
  if (name == TraceName::host_collective) trace.host_collectives.push_back(interval);
  if (spans.lane[i] == Lane::main_thread) {
    trace.main.push_back({interval.start, interval.end, name, phase, spans.step[i], spans.op[i]});
  } else if (name == TraceName::autograd) {
    trace.autograd.push_back(interval);
  }
}

void add_copy(RankTrace& trace, const Evidence& evidence, size_t i, const TimeInterval& interval) {
  const SpanTable& spans = evidence.spans;
  const std::string_view name = evidence.names[spans.op[i]];
  if (name.starts_with("Memset")) return trace.other_device.push_back(interval);
  trace.copies.start.push_back(interval.start);
  const DeviceCopy copy = copy_of(name);
  if (copy.kind != CopyKind::host_to_device) return trace.other_device.push_back(interval);
  trace.h2d.push_back(interval);
  trace.copies.h2d_start.push_back(interval.start);
  trace.copies.h2d_bytes.push_back(spans.bytes[i]);
  trace.copies.h2d_pageable.push_back(copy.pageable ? 1 : 0);
}

void add_span(RankTrace& trace, const Evidence& evidence, size_t i, Meanings& meanings) {
  const SpanTable& spans = evidence.spans;
  if (!is_usable(spans, i)) return;
  const TimeInterval interval = interval_of(spans, i);
  switch (spans.lane[i]) {
    case Lane::main_thread:
    case Lane::host_thread:
      return add_host(trace, spans, i, meanings.of(spans.op[i]));
    case Lane::gpu_compute:
      trace.compute.push_back(interval);
      trace.kernel_start.push_back(interval.start);
      trace.kernel_duration.push_back(spans.duration[i]);
      return;
    case Lane::gpu_collective:
      return (spans.phase[i] == Phase::p2p ? trace.p2p : trace.collective).push_back(interval);
    case Lane::gpu_copy:
      return add_copy(trace, evidence, i, interval);
    case Lane::loader_worker:
    case Lane::gpu_other:
      return;
  }
}

bool communicates(const HostSpan& s) {
  return s.step >= 0 && (s.phase == Phase::collective || s.phase == Phase::p2p);
}

// Communication that ends behind the record in which it began, or in which computing begins, is no
// call of the training thread: rows that carry their step (bundles) need not name the thread. Where
// that is so in most steps, all of the rank's communication runs beside.
void set_apart_communication(RankTrace& trace) {
  std::set<int32_t> communicating, overlapping;
  std::vector<const HostSpan*> open;
  for (const HostSpan& s : trace.main) {
    while (!open.empty() && open.back()->end <= s.start) open.pop_back();
    if (communicates(s)) communicating.insert(s.step);
    if (!open.empty()) {
      const HostSpan& around = *open.back();
      if (communicates(s) && s.end > around.end) overlapping.insert(s.step);
      if (communicates(around) && is_compute(s.phase) && s.end > s.start)
        overlapping.insert(around.step);
    }
    open.push_back(&s);
  }
  if (overlapping.empty() || 2 * overlapping.size() < communicating.size()) return;
  for (HostSpan& s : trace.main) {
    if (!communicates(s)) continue;
    s.beside = true;
    trace.host_collectives.push_back({s.start, s.end});
  }
}

void sort_out(RankTrace& trace) {
  // Zero-length records cover nothing, but an enclosing span must come before the enclosed one.
  const auto before = [](const HostSpan& a, const HostSpan& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  };
  if (!std::is_sorted(trace.main.begin(), trace.main.end(), before))
    std::stable_sort(trace.main.begin(), trace.main.end(), before);
  set_apart_communication(trace);
  std::sort(trace.autograd.begin(), trace.autograd.end(),
            [](const TimeInterval& a, const TimeInterval& b) { return a.start < b.start; });
  for (Intervals* list : {&trace.host_collectives, &trace.compute, &trace.collective, &trace.p2p,
                          &trace.h2d, &trace.other_device})
    make_union(*list);
}

}  // namespace

std::vector<RankTrace> rank_traces(const Evidence& evidence) {
  std::map<int32_t, RankTrace> by_rank;
  RankTrace* last = nullptr;
  Meanings meanings(evidence.names);
  for (size_t i = 0; i < evidence.spans.size(); ++i) {
    const int32_t rank = evidence.spans.rank[i];
    if (last == nullptr || last->rank != rank) {
      last = &by_rank[rank];
      last->rank = rank;
    }
    add_span(*last, evidence, i, meanings);
  }
  std::vector<RankTrace> out;
  for (auto& [rank, trace] : by_rank) {
    if (trace.main.empty()) continue;
    sort_out(trace);
    out.push_back(std::move(trace));
  }
  return out;
}

}  // namespace firstwait
