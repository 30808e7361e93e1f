// Weights: transfer itself, the wait for late ranks taken out, is a relevant part of the step and
// more than the wait; and the bytes move at most of what the link can, where both are known.
// Without bytes it stays a possibility.
#include <fmt/core.h>

#include <algorithm>

#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p};
constexpr std::string_view kNeeds[] = {"collectives with start, end and bytes on every rank",
                                       "node_network_speed_bytes"};
constexpr Threshold kAtBound{
    "achieved against the link's rate", 0.7, "ratio",
    "TCP in 1500-byte Ethernet frames carries 0.94 of the line (1448 of 1538 bytes); a quarter of "
    "that is left for the start and the end of a collective"};
constexpr Threshold kThresholds[] = {kRelevantShare, kAtBound};

// Bytes per second while collectives transfer: the bytes of a step over the transfer time of a
// step.
double achieved(const View& view, double transfer_s) {
  const CollectiveTable& t = view.evidence.collectives;
  double bytes = 0;
  for (size_t i = 0; i < t.size(); ++i)
    if (t.bytes[i] > 0) bytes += static_cast<double>(t.bytes[i]);
  const auto cells =
      static_cast<double>(view.attribution.ranks.ranks.size() * view.attribution.steps.size());
  return bytes > 0 && cells > 0 ? bytes / cells / transfer_s : kNaN;
}

double link_rate(const View& view) {
  double slowest = kNaN;
  for (const auto& r : gauge(view, "node_network_speed_bytes"))
    if (r.now > 0 && !(slowest <= r.now)) slowest = r.now;
  return slowest;
}

Verdict test(const View& view) {
  const auto& a = view.attribution;
  if (!(a.collective_transfer_s >= 0) || !(a.collective_wait_s >= 0) || !(a.current_s > 0))
    return untested({kNeeds[0]});
  Weighing w;
  const double share = a.collective_transfer_s / a.current_s;
  const EvidenceRow transfer =
      fact("transfer, without the wait for late ranks", "collective.transfer", "",
           a.collective_transfer_s, "s/step", true);
  if (share < kRelevantShare.value) {
    w.contradicts(kVeryStrong, fmt::format("transfer is {} of the step", percent(share)), transfer);
    return std::move(w).verdict("", {});
  }
  if (a.collective_wait_s >= a.collective_transfer_s) {
    w.contradicts(kStrong,
                  fmt::format("of {} in communication {} are waiting for late ranks",
                              seconds(a.collective_wait_s + a.collective_transfer_s),
                              seconds(a.collective_wait_s)),
                  fact("waiting for late ranks", "collective.wait", "", a.collective_wait_s,
                       "s/step", false));
    return std::move(w).verdict("", {});
  }
  w.supports(kWeak, transfer);
  w.hints(
      kWeak * (1 - a.collective_wait_s / a.collective_transfer_s),
      fact("waiting for late ranks", "collective.wait", "", a.collective_wait_s, "s/step", true));
  const double rate = achieved(view, a.collective_transfer_s), line = link_rate(view);
  if (rate / line >= kAtBound.value) {
    w.hints(kStrong, fact("achieved against the link's rate", "node_network_speed_bytes", "",
                          rate / line, "ratio", true));
  } else if (rate / line < kAtBound.value) {
    w.contradicts(kPositive,
                  fmt::format("the transfer reaches {} of the link's rate", percent(rate / line)),
                  fact("achieved against the link's rate", "node_network_speed_bytes", "",
                       rate / line, "ratio", false));
  }
  w.link("Ranks exchange data", "every step", seconds(a.collective_transfer_s));
  Verdict v =
      std::move(w).verdict(fmt::format("transfer itself takes {} of the step", percent(share)), {});
  if (v.outcome == Outcome::supported)
    v.effect = Effect{a.collective_transfer_s, {kNaN, a.collective_transfer_s}};
  return v;
}

}  // namespace

extern const Hypothesis hypothesis_sync_communication_bound{
    .id = "sync.communication_bound",
    .claim = "the transfer itself takes the time, at what the links can do",
    .decides = "transfer without wait, and bytes against bandwidth",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
