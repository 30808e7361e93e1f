// What reads (and writes) meet on their way: local disks, NFS and Lustre mounts, seen from each
// host.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/weigh.h"

namespace firstwait {

inline constexpr Phase kStoragePhases[] = {Phase::input_wait, Phase::checkpoint};

// One disk or mount on one host. Readings are NaN in `now` when unknown.
struct StorageUse {
  std::string host;     // "host/node07"
  std::string name;     // "nvme0n1", "nfs01:/export"
  std::string entity;   // "storage/nfs01:/export" for shared ones, else the host
  bool shared = false;  // several hosts may use it
  Reading bytes;        // read per second; now_max the fastest interval
  Reading ops;          // reads per second
  Reading latency;      // seconds per read, server and network included
  Reading depth;        // requests in flight on average
  Reading busy;  // share of time with a request in flight; proves nothing on devices that serve
                 // many at once
  Reading metadata_share;  // of the time of all operations
  Reading metadata_ops;    // per second
  double read_bytes() const { return ops.now > 0 ? bytes.now / ops.now : kNaN; }  // per read
};
// Those that read now, the busiest first. Only mounts when the data set is known to lie on one. Not
// the disks of hosts on which the job itself is known to read nothing.
std::vector<StorageUse> storage_uses(const View& view);
// Whether what the data set lies on is reached over a network: nothing where its file system is not
// known.
std::optional<bool> data_is_remote(const View& view);
// Of one export seen from several hosts: added up over the hosts (latency: mean over reads).
std::vector<StorageUse> by_storage(const std::vector<StorageUse>& uses);

// A counter of the job's processes, of all that run on a host ("host/node07"); NaN unknown.
Reading own_rate(const View& view, std::string_view metric, std::string_view host);

// now / now_max: near 1 when the rate has a flat top. NaN unknown.
double flatness(const Reading& rate);
// The limit in bytes or reads per second that settings tell of this storage; NaN unknown.
double storage_limit(const View& view, const StorageUse& use, std::string_view key);
// Whether reads block loaders: loader workers' share of time in reads or block I/O; NaN unknown.
double blocked_in_reads(const View& view);

inline constexpr Threshold kFlat{
    "mean rate against the fastest interval", 0.9, "ratio",
    "Gunther, Guerrilla Capacity Planning: at saturation throughput stays flat while latency grows "
    "with the queue; 10 % for sampling"};
inline constexpr Threshold kAtLimit{
    "rate against the known limit", 0.95, "ratio",
    "the limit itself; 5 % for sampling, the share at which PyTorch's profiler starts to report"};
inline constexpr Threshold kLatencyRise{
    "latency against before", 2, "ratio",
    "attributable fraction (RR - 1) / RR: from 2 on, most of the latency is new"};
inline constexpr Threshold kOpSize{
    "bytes per read that part IOPS from throughput", 43690, "bytes",
    "AWS EBS gp3 baseline: 125 MiB/s and 3,000 IOPS meet at 42.7 KiB per read"};
inline constexpr Threshold kBlocked{"time blocked in reads", 0.5, "ratio",
                                    "the majority of the workers' time"};

}  // namespace firstwait
