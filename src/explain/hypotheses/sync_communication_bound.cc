// Weights: transfer itself, the wait for late ranks taken out, is a relevant part of the step, more
// than the wait and than any other wait, and it grew where the step did. What decides is that the
// bytes move at most of what the link can; where that is not known, that transfer takes longer than
// computing, and then it stays a possibility.
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
constexpr Threshold kLongerThanComputing{
    "transfer against computing", 1, "ratio",
    "the roofline's definition: what takes longest bounds (Williams, Waterman and Patterson 2009)"};
constexpr Threshold kThresholds[] = {kRelevantShare, kAtBound, kLongerThanComputing};

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

// What speaks against transfer as what bounds the step; nothing when nothing does.
bool refute(Weighing& w, const View& view, double share) {
  const auto& a = view.attribution;
  const double transfer_s = a.collective_transfer_s, wait_s = a.collective_wait_s;
  if (share < kRelevantShare.value) {
    w.contradicts(kVeryStrong, fmt::format("transfer is {} of the step", percent(share)),
                  fact("transfer, without the wait for late ranks", "collective.transfer", "",
                       transfer_s, "s/step", false));
    return true;
  }
  if (wait_s >= transfer_s) {
    w.contradicts(kStrong,
                  fmt::format("of {} in communication {} are waiting for late ranks",
                              seconds(wait_s + transfer_s), seconds(wait_s)),
                  fact("waiting for late ranks", "collective.wait", "", wait_s, "s/step", false));
    return true;
  }
  double now = 0, before = 0;
  bool has_before = !a.baseline.empty;
  for (const LedgerRow& row : a.ledger) {
    if (row.phase == Phase::collective || row.phase == Phase::p2p) {
      now += row.seconds;
      before += row.before.value_or(0);
      has_before = has_before && row.before.has_value();
    } else if (!is_compute(row.phase) && row.phase != Phase::unexplained &&
               row.seconds > transfer_s) {
      w.contradicts(
          kStrong,
          fmt::format("{} takes more of the step: {} against {}", phase_words(row.phase),
                      seconds(row.seconds), seconds(transfer_s)),
          fact(std::string(phase_words(row.phase)), fmt::format("ledger.{}", name(row.phase)), "",
               row.seconds, "s/step", false));
      return true;
    }
  }
  if (has_before && now > 0 && now - before < kRelevantShare.value * a.current_s) {
    w.contradicts(
        kVeryStrong,
        fmt::format("communication did not grow with the step: {}", change_text(before, now)),
        fact("communication", "ledger.collective", "", now, "s/step", false, before));
    return true;
  }
  return false;
}

Verdict test(const View& view) {
  const auto& a = view.attribution;
  if (!(a.collective_transfer_s >= 0) || !(a.collective_wait_s >= 0) || !(a.current_s > 0))
    return untested({kNeeds[0]});
  Weighing w;
  const double share = a.collective_transfer_s / a.current_s;
  if (refute(w, view, share)) return std::move(w).verdict("", {});
  const EvidenceRow transfer =
      fact("transfer, without the wait for late ranks", "collective.transfer", "",
           a.collective_transfer_s, "s/step", true);
  double computing = 0;
  for (const LedgerRow& row : a.ledger)
    if (is_compute(row.phase)) computing += row.seconds;
  const double rate = achieved(view, a.collective_transfer_s), line = link_rate(view);
  const bool bounds = a.collective_transfer_s >= kLongerThanComputing.value * computing;
  if (bounds) w.supports(kWeak, transfer);
  if (rate / line >= kAtBound.value) {
    if (!bounds) w.hints(kWeak, transfer);
    w.supports(kStrong, fact("achieved against the link's rate", "node_network_speed_bytes", "",
                             rate / line, "ratio", true));
  } else if (rate / line < kAtBound.value) {
    w.contradicts(kPositive,
                  fmt::format("the transfer reaches {} of the link's rate", percent(rate / line)),
                  fact("achieved against the link's rate", "node_network_speed_bytes", "",
                       rate / line, "ratio", false));
  }
  w.hints(
      kWeak * (1 - a.collective_wait_s / a.collective_transfer_s),
      fact("waiting for late ranks", "collective.wait", "", a.collective_wait_s, "s/step", true));
  w.link("Ranks exchange data", "every step", seconds(a.collective_transfer_s));
  Verdict v =
      std::move(w).verdict(fmt::format("transfer itself takes {} of the step", percent(share)),
                           {"bytes of the collectives and node_network_speed_bytes"});
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
