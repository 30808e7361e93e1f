#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "explain/placing.h"

namespace firstwait {
namespace {

constexpr std::string_view kNeeds[] = {
    "node_infiniband_symbol_error_total", "node_infiniband_port_errors_received_total",
    "node_network_receive_errs_total", "node_network_transmit_errs_total"};
constexpr Threshold kSymbolErrors{
    "symbol errors per hour", 120, "events/h",
    "InfiniBand specification, bit error ratio 1e-12: at most 120 symbol errors an hour"};
constexpr Threshold kBitErrors{"errors per bit", 1e-12, "ratio",
                               "IEEE 802.3 and InfiniBand: bit error ratio of a good link"};
constexpr Threshold kThresholds[] = {kSymbolErrors, kBitErrors, kCounted, kRise};
constexpr Phase kPhasesExplained[] = {Phase::collective, Phase::p2p, Phase::input_wait,
                                      Phase::unexplained};

struct Counter {
  std::string_view name, bytes, what;
};
constexpr Counter kCounters[] = {
    {"node_infiniband_symbol_error_total", "", "symbol errors"},
    {"node_infiniband_port_errors_received_total", "node_infiniband_port_data_received_bytes_total",
     "damaged packets received"},
    {"node_network_receive_errs_total", "node_network_receive_bytes_total",
     "damaged packets received"},
    {"node_network_transmit_errs_total", "node_network_transmit_bytes_total", "errors in sending"},
};

struct Port {
  Reading reading;
  const Counter* counter = nullptr;
  double limit = 0;  // events per second that a good link may show
};

Verdict test(const View& view) {
  Port worst;
  bool watched = false;
  double total = 0;
  for (const auto& c : kCounters) {
    const auto errors = rate(view, c.name);
    const auto traffic = c.bytes.empty() ? std::vector<Reading>() : rate(view, c.bytes);
    for (const auto& r : errors) {
      watched = true;
      total += r.now_count;
      double limit = kSymbolErrors.value / 3600;
      for (const auto& t : traffic)
        if (port_of(t) == port_of(r)) limit = std::max(8 * t.now * kBitErrors.value, 1e-12);
      if (r.now_count < kCounted.value || !(r.now > limit)) continue;
      if (worst.counter == nullptr || r.now / limit > worst.reading.now / worst.limit)
        worst = {r, &c, limit};
    }
  }
  if (!watched)
    return untested({"node_infiniband_symbol_error_total", "node_network_receive_errs_total"});
  Weighing w;
  w.gate(stake_or_unexplained(view, std::array{Phase::collective, Phase::p2p, Phase::input_wait}));
  if (worst.counter == nullptr) {
    w.contradicts(
        kStrong,
        fmt::format("the ports counted {:.0f} errors, no more than a good link may", total),
        fact("port errors", "node_network_receive_errs_total", "", total, "events", false));
    return std::move(w).verdict("", {});
  }
  const auto& r = worst.reading;
  const auto port = port_of(r), metric = std::string(worst.counter->name);
  w.supports(kPositive, row(std::string(worst.counter->what), metric, port, r, "1/s", true));
  if (const auto risen = rose(r)) {
    if (*risen)
      w.hints(kPositive, row("rose at the onset", metric, port, r, "1/s", true));
    else
      w.contradicts(kPositive,
                    fmt::format("{} on {} are as before: {:.2g} → {:.2g} per second",
                                worst.counter->what, id_of(port), r.before, r.now),
                    row("as before", metric, port, r, "1/s", false));
  }
  weigh_transfer(w, view);
  add_place(w, view, port);
  w.link("The link damages packets", std::string(id_of(port)), fmt::format("{:.3g}/s", r.now));
  return std::move(w).verdict(
      fmt::format("{} counts {:.3g} {} per second", id_of(port), r.now, worst.counter->what), {});
}

}  // namespace

extern const Hypothesis hypothesis_network_link_errors{
    .id = "network.link_errors",
    .claim = "a link damages packets",
    .decides =
        "symbol errors and damaged packets per port, against the bit error ratio of a good link",
    .accounts_for = kPhasesExplained,
    .needs = kNeeds,
    .thresholds = kThresholds,
    .checklist_step = 3,
    .prior = 0,
    .test = test};

}  // namespace firstwait
