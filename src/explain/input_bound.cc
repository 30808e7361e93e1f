#include "explain/input_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "explain/input_signals.h"

namespace firstwait {
namespace {

// Above this the demands do not account for the step: arXiv 2505.05713 accepts no replay with a
// larger error.
constexpr double kReplayError = 0.05;

// Larger of two, either of which may be unknown.
double at_least(double a, double b) { return b > a || std::isnan(a) ? b : a; }

std::vector<int32_t> carriers(const View& view) {
  const LedgerRow* wait = ledger_row(view, Phase::input_wait);
  if (wait != nullptr && !wait->ranks.empty()) return wait->ranks;
  return view.attribution.ranks.ranks;
}

bool among(const std::vector<int32_t>& ranks, int64_t rank) {
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Mean of what one rank's workers read in a step of the baseline.
double reading_before(const View& view, const std::vector<int32_t>& ranks) {
  const auto& a = view.attribution;
  if (a.baseline.empty || a.baseline.last >= a.steps.size()) return kNaN;
  const int32_t first = a.steps.step[a.baseline.first], last = a.steps.step[a.baseline.last];
  const auto& t = view.evidence.steps;
  double sum = 0, rows = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    const Ns d = t.loader_time(i, LoaderWork::fetch);
    if (t.step[i] < first || t.step[i] > last || d == kNoDuration || !among(ranks, t.rank[i]))
      continue;
    sum += static_cast<double>(d) * 1e-9;
    ++rows;
  }
  return rows > 0 ? sum / rows : kNaN;
}

// Of the workers of one rank in a step; NaN when no process that loads was watched.
double of_workers(const View& view, std::string_view metric, const std::vector<int32_t>& ranks,
                  double step_s) {
  double sum = 0;
  std::set<int64_t> seen;
  for (const auto& r : rate(view, metric, {{"role", "loader"}})) {
    const auto label = std::find_if(r.labels.begin(), r.labels.end(),
                                    [](const auto& l) { return l.first == "rank"; });
    const auto rank = label == r.labels.end() ? std::nullopt : parse_int(label->second);
    if ((rank && !among(ranks, *rank)) || !known_now(r)) continue;
    sum += r.now;
    seen.insert(rank.value_or(-1));
  }
  return seen.empty() ? kNaN : sum * step_s / static_cast<double>(seen.size());
}

// The CPUs that bind first.
void fill_cpus(const View& view, const std::vector<int32_t>& ranks, InputDemand& d) {
  for (const auto& room : cpu_rooms(view)) {
    const double sharing =
        room.ranks.empty() ? ranks_on(view, room.host) : static_cast<double>(room.ranks.size());
    if (!room.ranks.empty() && std::none_of(room.ranks.begin(), room.ranks.end(),
                                            [&](int32_t r) { return among(ranks, r); }))
      continue;
    const double bound = sharing * d.cpu_s / room.allowed;
    if (!(bound > 0) || d.cpus_s >= bound) continue;
    d.cpus_s = bound;
    d.cpus = room.allowed;
    d.cpu_cause = room.confined() ? "input.cpu_entitlement" : "input.cpu_saturated";
    const double training =
        known_now(room.used) ? std::max(0.0, room.used.now - sharing * d.cpu_s / d.step_s) : kNaN;
    d.cpus_left_s = room.allowed > training ? sharing * d.cpu_s / (room.allowed - training) : kNaN;
  }
}

std::vector<std::string_view> missing(const InputDemand& d, InputLimit limit) {
  std::vector<std::string_view> out;
  if (limit != InputLimit::workers && std::isnan(d.preparing_s))
    out.emplace_back("the workers' time per step");
  if (limit != InputLimit::workers && std::isnan(d.workers)) out.emplace_back("loader.num_workers");
  // CPU time of a thread that loads itself is not all for loading.
  if (d.workers > 0 && std::isnan(limit == InputLimit::cpus ? d.cpu_s : d.cpus_s))
    out.emplace_back(std::isnan(d.cpu_s) ? "firstwait_process_cpu_seconds_total of loader workers"
                                         : "cpu.count");
  return out;
}

// What a step takes of workers who are busy for so long in each.
double by_workers(const InputDemand& d, double busy_s) {
  return d.workers > 0 ? busy_s / d.workers : d.rest_s + busy_s;
}

bool accounts_for_now(const InputDemand& d) {
  const double now =
      at_least(at_least(d.rest_s, by_workers(d, d.reading_s + d.preparing_s)), d.cpus_s);
  return std::abs(now / d.step_s - 1) <= kReplayError;
}

struct Steps {
  double fastest = kNaN, slowest = kNaN, workers = kNaN;
};

Steps steps_without(const InputDemand& d, InputLimit limit) {
  // A worker that waits for a CPU while it prepares will do so without reads too, and will not with
  // CPUs enough.
  const double least = limit == InputLimit::cpus ? std::min(d.cpu_s, d.preparing_s) : d.preparing_s;
  // Where the records do not part reading from preparing, CPU time tells how much was preparing;
  // several threads burn more of it than a worker takes time.
  const bool one_thread = d.cpu_s <= d.reading_s + d.preparing_s;
  const double most = one_thread ? std::max(d.cpu_s, d.preparing_s) : d.preparing_s;
  Steps s;
  if (limit != InputLimit::workers) s.workers = by_workers(d, least);
  s.fastest = at_least(d.rest_s, s.workers);
  if (limit != InputLimit::cpus) s.fastest = at_least(s.fastest, d.cpus_s);
  if (limit == InputLimit::reads && missing(d, limit).empty() && accounts_for_now(d) &&
      d.reading_before_s >= 0)
    s.slowest =
        at_least(at_least(d.rest_s, by_workers(d, d.reading_before_s + most)), d.cpus_left_s);
  return s;
}

std::string counted(double n, std::string_view what) {
  return fmt::format("{:.3g} {}{}", n, what, n == 1 ? "" : "s");
}

std::string words(const InputDemand& d, InputLimit limit, const Steps& s) {
  std::string out;
  if (limit == InputLimit::workers) out = "the workers are as many as are needed";
  if (limit == InputLimit::cpus) out = "the workers never wait for a CPU";
  if (limit == InputLimit::reads)
    out = s.slowest > 0 ? "reads take as little time as before the onset" : "reads take no time";
  const bool cpu = d.cpu_s > 0;
  if (cpu || d.preparing_s > 0)
    out += fmt::format("; preparing takes {} of {} per step and rank",
                       seconds(cpu ? d.cpu_s : d.preparing_s), cpu ? "CPU" : "the workers' time");
  std::string room;
  if (limit != InputLimit::cpus && d.cpus > 0) room = counted(d.cpus, "CPU");
  if (limit != InputLimit::workers && d.workers > 0)
    room += (room.empty() ? "" : " and ") + counted(d.workers, "worker");
  if (!room.empty()) out += "; it has " + room;
  if (limit == InputLimit::reads && d.read_bytes > 0 && s.fastest > 0)
    out += fmt::format("; that needs {} per rank from where the data set then lies",
                       bytes_per_second(d.read_bytes / s.fastest));
  return out;
}

}  // namespace

InputDemand input_demand(const View& view, double wait_s) {
  InputDemand d;
  const auto ranks = carriers(view);
  d.step_s = view.attribution.current_s;
  d.rest_s = d.step_s - wait_s;
  const LoaderFacts loader = loader_facts(view);
  d.workers = loader_workers(view).value_or(loader.workers);
  d.reading_s = loader.work_s * loader.reading_share;
  d.preparing_s = loader.work_s * loader.preparing_share;
  d.reading_before_s = reading_before(view, ranks);
  d.cpu_s = of_workers(view, "firstwait_process_cpu_seconds_total", ranks, d.step_s);
  d.read_bytes = of_workers(view, "firstwait_process_read_chars_total", ranks, d.step_s);
  fill_cpus(view, ranks, d);
  return d;
}

InputBound without(const InputDemand& d, InputLimit limit, double most) {
  const Steps s = steps_without(d, limit);
  InputBound b;
  b.speedup.hi = std::clamp(d.step_s / s.fastest, 1.0, most);
  if (s.slowest > 0) b.speedup.lo = std::min(b.speedup.hi, d.step_s / s.slowest);
  if (d.step_s / s.fastest < most * (1 - kReplayError))
    b.bound_by = !(s.workers >= s.fastest) ? d.cpu_cause
                 : d.workers > 0           ? "input.loader_underprovisioned"
                                           : "input.loading_in_main_thread";
  b.assumption = words(d, limit, s);
  b.missing = missing(d, limit);
  return b;
}

}  // namespace firstwait
