#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "explain/input_signals.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::h2d};
constexpr std::string_view kNeeds[] = {"step phases with h2d",
                                       "a profiler trace with memory copies", "loader.pin_memory",
                                       "pcie.link_gen and pcie.link_width"};
constexpr Threshold kSlow{"copy rate against the link", 0.5, "ratio",
                          "NVIDIA, How to Optimize Data Transfers in CUDA C/C++: pageable copies "
                          "reach about half the rate "
                          "of pinned ones"};
constexpr Threshold kThresholds[] = {kRelevantShare, kSlow};

// Payload bytes per second of a PCIe link, per lane and generation (PCI-SIG: 250 MB/s, 500 MB/s,
// then 128b/130b).
double link_rate(const View& view) {
  static constexpr double kLane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
  const auto gen = setting_number(view, "pcie.link_gen_max"),
             gen_now = setting_number(view, "pcie.link_gen");
  const auto width = setting_number(view, "pcie.link_width");
  const double g = gen ? *gen : gen_now.value_or(0);
  if (!(g >= 1 && g <= 6) || !width || !(*width > 0)) return kNaN;
  return kLane[static_cast<size_t>(g)] * *width;
}

Verdict test(const View& view) {
  Weighing w;
  const Stake s = stake(view, kPhasesExplained);
  if (s.state == Stake::State::unknown)
    return untested({"step phases with h2d, or a profiler trace"});
  if (!w.gate(s)) return std::move(w).verdict("", {});
  std::string how = fmt::format("copies take {} of each step", percent(s.share));
  bool pageable = false;
  double bytes = 0, copy = 0;
  for (const auto& t : view.attribution.traces) {
    pageable = pageable || t.h2d_pageable;
    if (t.h2d_bytes > 0 && t.h2d_copy_s > 0) {
      bytes += t.h2d_bytes;
      copy += t.h2d_copy_s;
    }
  }
  // The phase itself was measured: the training thread waits for copies, whatever makes them slow.
  w.supports(kPositive, fact("the training thread waits for copies", "ledger.h2d", "", s.now_s,
                             "s/step", true, s.before_s));
  if (pageable) {
    w.supports(kPositive, fact("copies leave pageable memory", "h2d_pageable", "", 1, "", true));
    how = fmt::format("input is copied from pageable memory, {} of each step", percent(s.share));
  }
  const auto pin = setting(view, "loader.pin_memory");
  if (pin && (*pin == "False" || *pin == "false" || *pin == "0")) {
    w.supports(kWeak,
               fact("the loader does not pin its batches", "loader.pin_memory", "", 0, "", true));
    how = fmt::format("batches are not pinned and copies take {} of each step", percent(s.share));
  }
  const double link = link_rate(view);
  if (copy > 0 && link > 0) {
    const double achieved = bytes / copy / link;
    const auto r =
        fact("copy rate", "h2d_bytes", "", bytes / copy, "bytes/s", achieved < kSlow.value, kNaN);
    if (achieved < kSlow.value)
      w.supports(kWeak, r);
    else
      w.hints(0, r);
    w.link("Copies to the device", "",
           fmt::format("{} of {}", bytes_per_second(bytes / copy), bytes_per_second(link)));
  }
  return std::move(w).verdict(how, {});
}

}  // namespace

extern const Hypothesis hypothesis_input_host_copy{
    .id = "input.host_copy",
    .claim = "copying input to the device is slow",
    .decides = "h2d share, pageable memory, bytes per second against the link",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 5,
    .prior = 0,
    .test = test};

}  // namespace firstwait
