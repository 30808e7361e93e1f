// OTLP protobuf of what the sampler kept: metrics, and events and settings as log records. Written
// with protozero.
#pragma once
#include <string>
#include <vector>

#include "collect/sampler.h"

namespace firstwait {

// An ExportMetricsServiceRequest with what was sampled behind `seen` up to `to`; empty when that is
// nothing.
// Counters are cumulative sums.
std::string otlp_metrics(const Sampler& sampler, const SeriesTable::Progress& seen,
                         const SeriesTable::Progress& to);
// An ExportLogsServiceRequest; empty when both are empty. `event.name` is the event's kind, or
// "setting".
std::string otlp_logs(const std::string& host, const std::vector<Event>& events,
                      const std::vector<Setting>& settings);

std::string gzip(std::string_view text);

}  // namespace firstwait
