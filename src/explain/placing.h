// Where in the job something happens: hosts, GPUs, ports and ranks, and whether the slowness is
// there too.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/weigh.h"

namespace firstwait {

// Thresholds that several hypotheses share.
inline constexpr Threshold kRise{
    "rise over before", 2, "ratio",
    "attributable fraction (RR - 1) / RR: from 2 on, most of what is counted is new"};
inline constexpr Threshold kCounted{
    "least count", 10, "events",
    "Poisson counting error 1 / sqrt(n): below 10 events it exceeds 32 %"};
inline constexpr Threshold kPeerSpread{
    "spread of equal GPUs", 0.08, "ratio",
    "Sinha et al., Not All GPUs Are Created Equal, SC'22: GPUs of one model differ by 8 % on "
    "average"};

// The median of the values that are numbers; NaN without any.
double median_of(std::vector<double> values);
// "node07" of "host/node07", "gpu/node07:2", "nic/node07:eth0"; empty for other kinds.
std::string host_name(std::string_view entity);
// "node07:2" of "gpu/node07:2".
std::string_view id_of(std::string_view entity);
// The port a reading belongs to: "nic/node07:eth0" also when it is told by host and a label
// `device` (and `port`, unless it is the first).
std::string port_of(const Reading& reading);
// Hosts on which the job's ranks run; empty when unknown.
std::vector<std::string> job_hosts(const View& view);
// The rank that uses this GPU; -1 unknown.
int32_t rank_of_gpu(const View& view, std::string_view gpu_entity);

// Ranks whose own work is slower than their peers' by more than kPeerSpread; empty: none stands
// out, or the ranks cannot be compared.
std::vector<int32_t> slow_ranks(const View& view);
// Whether this host, port or GPU is where the slow ranks are; nothing when no rank stands out or no
// rank of the job is there.
std::optional<bool> is_slow_place(const View& view, std::string_view entity);
// Hints for a place that is slow, contradicts for one that is not.
void weigh_place(Weighing& w, const View& view, std::string_view entity);
// Appends "rank/3" (if any), the entity and its host.
void add_place(Weighing& w, const View& view, std::string_view entity);

// A network cause stretches transfer; when the collectives' time is waiting for a late rank, that
// contradicts. Says nothing when the two were not told apart.
void weigh_transfer(Weighing& w, const View& view);
// The stake of these phases; when they were not recorded, that of the time no record explains.
Stake stake_or_unexplained(const View& view, std::span<const Phase> phases);
// Limits a verdict's effect to `most` s/step; the likely value is never more than it.
void limit_effect(Verdict& verdict, double most);
// Whether a counter grew enough to be new: at least kCounted events now, and kRise times the rate
// before. Nothing when there is no "before".
std::optional<bool> rose(const Reading& reading);

}  // namespace firstwait
