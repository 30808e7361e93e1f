// Reads metrics, settings and events for hypotheses: raw series in, values before and now out.
// Counters become rates here and nowhere else (resets are handled). "Before" and "now" are the
// attribution's baseline and current windows; without times of steps, "now" is the whole series and
// "before" is unknown.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explain/hypothesis.h"

namespace firstwait {

struct Reading {
  std::string entity;                                       // "host/node07"
  std::vector<std::pair<std::string, std::string>> labels;  // of the series; empty after by_entity
  double before = kNaN, now = kNaN;                         // NaN: no sample in that window
  double now_max = kNaN;    // largest value (gauge) or rate between samples (counter)
  double now_count = kNaN;  // increase of a counter in the window; NaN for gauges
  bool has_before() const { return before == before; }
};

using LabelFilter = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Mean of a gauge per series in each window.
std::vector<Reading> gauge(const View& view, std::string_view metric, LabelFilter filter = {});
// Increase per second of a counter per series in each window.
std::vector<Reading> rate(const View& view, std::string_view metric, LabelFilter filter = {});
// Share of a gauge's samples in which its integer value has any bit of `mask` set (throttle
// reasons).
std::vector<Reading> share_with_bits(const View& view, std::string_view metric, uint64_t mask,
                                     LabelFilter filter = {});
// Readings of one entity added up (its labels dropped), or their mean.
std::vector<Reading> sum_by_entity(const std::vector<Reading>& readings);
std::vector<Reading> mean_by_entity(const std::vector<Reading>& readings);
// The reading of one entity, or nothing. The readings must be in the order of their entities, as
// sum_by_entity and mean_by_entity give them.
const Reading* of_entity(const std::vector<Reading>& readings, std::string_view entity);
// numerator / denominator per entity and window; entities without both are left out.
std::vector<Reading> ratio(const std::vector<Reading>& numerator,
                           const std::vector<Reading>& denominator);
bool has_metric(const View& view, std::string_view metric);

// Settings with this key, the latest of each entity.
std::vector<const Setting*> settings(const View& view, std::string_view key);
std::vector<const Setting*> settings_with_prefix(const View& view, std::string_view prefix);
// The one value if all entities agree, otherwise nothing.
std::optional<std::string> setting(const View& view, std::string_view key);
std::optional<double> setting_number(const View& view, std::string_view key);
// "0-3,8" as a count of CPUs.
std::optional<int> cpu_list_size(std::string_view list);

std::vector<const Event*> events(const View& view, std::string_view kind);

// Mean seconds per step of a phase now and in the baseline (nothing: not in the ledger / no
// baseline).
const LedgerRow* ledger_row(const View& view, Phase phase);
double phase_seconds(const View& view, Phase phase);  // 0 when absent
// Phase excess over the baseline in s/step; the whole phase when the slowness is chronic.
double phase_excess(const View& view, Phase phase);

// "host/node07" of a rank, or empty; the host's name as spelled in entities.
std::string host_entity(const View& view, int32_t rank);

// Verdict helpers.
Verdict untested(std::initializer_list<std::string_view> needs);
Verdict refuted(std::string reason, double llr, std::vector<EvidenceRow> evidence = {});
EvidenceRow row(std::string text, std::string metric, std::string entity, const Reading& reading,
                std::string unit, bool supports);
std::optional<double> known(double value);  // NaN becomes nothing

}  // namespace firstwait
