// The spans of one rank's trace, sorted into what attribution asks for.
#pragma once
#include <map>
#include <vector>

#include "attribute/trace/intervals.h"
#include "model/evidence.h"
#include "model/trace_names.h"

namespace firstwait {

struct HostSpan {
  Ns start = 0, end = 0;
  TraceName name = TraceName::plain;
  Phase phase = Phase::unexplained;  // as the record says, or as the name means
  int32_t step = -1;
  NameId op = kNoName;
  bool beside = false;  // communication that runs beside the training thread, not on it
};

struct DeviceCopies {
  std::vector<Ns> start;  // of every copy, memory sets excluded
  std::vector<Ns> h2d_start;
  std::vector<int64_t> h2d_bytes;  // parallel; -1 unknown
  std::vector<uint8_t> h2d_pageable;
};

struct RankTrace {
  int32_t rank = 0;
  std::vector<HostSpan> main;  // the training thread, by start, the enclosing one first
  Intervals autograd;          // backward nodes on other threads, each as recorded, by start
  Intervals host_collectives;  // union, on any thread
  Intervals compute, collective, p2p, h2d;  // unions of device activity
  Intervals other_device;                   // copies on the device, memory sets and the like
  std::vector<Ns> kernel_start, kernel_duration;
  DeviceCopies copies;
  bool has_device() const {
    return !(compute.empty() && collective.empty() && p2p.empty() && h2d.empty() &&
             other_device.empty());
  }
  bool saw(Phase phase) const { return (seen_phases >> index(phase) & 1) != 0; }
  bool saw(TraceName name) const { return (seen_names >> static_cast<unsigned>(name) & 1) != 0; }
  uint32_t seen_phases = 0, seen_names = 0;  // bits
};

// One per rank that has spans of a training thread, by rank.
std::vector<RankTrace> rank_traces(const Evidence& evidence);

}  // namespace firstwait
