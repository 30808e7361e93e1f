#include "explain/storage_signals.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "explain/input_signals.h"

namespace firstwait {
namespace {

std::string label(const Reading& r, std::string_view key) {
  for (const auto& [k, v] : r.labels)
    if (k == key) return v;
  return {};
}

using Key = std::pair<std::string, std::string>;  // host, name

// Adds a series to the one of its disk or mount.
void add(Reading& into, const Reading& r) {
  if (!known_now(into)) {
    into = r;
    return;
  }
  into.before += r.before;
  into.now += r.now;
  into.now_max += r.now_max;
}

std::map<Key, Reading> by_label(const std::vector<Reading>& readings, std::string_view key) {
  std::map<Key, Reading> out;
  for (const auto& r : readings)
    if (const auto name = label(r, key); !name.empty()) add(out[{r.entity, name}], r);
  return out;
}

const Reading* find(const std::map<Key, Reading>& m, const Key& k) {
  const auto it = m.find(k);
  return it == m.end() ? nullptr : &it->second;
}

Reading divide(const Reading* a, const Reading* b) {
  Reading r;
  if (a == nullptr || b == nullptr || !(b->now > 0)) return r;
  r.entity = a->entity;
  r.now = a->now / b->now;
  if (b->before > 0) r.before = a->before / b->before;
  return r;
}

bool is_metadata(std::string_view op) {
  static constexpr std::string_view kOps[] = {"GETATTR",     "LOOKUP", "ACCESS",   "OPEN",
                                              "OPEN_NOATTR", "CLOSE",  "READDIR",  "READDIRPLUS",
                                              "STATFS",      "FSSTAT", "READLINK", "DELEGRETURN"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

void add_disks(const View& view, std::vector<StorageUse>& out) {
  const auto bytes = by_label(rate(view, "node_disk_read_bytes_total"), "device");
  const auto ops = by_label(rate(view, "node_disk_reads_completed_total"), "device");
  const auto time = by_label(rate(view, "node_disk_read_time_seconds_total"), "device");
  const auto depth = by_label(rate(view, "node_disk_io_time_weighted_seconds_total"), "device");
  const auto busy = by_label(rate(view, "node_disk_io_time_seconds_total"), "device");
  for (const auto& [key, b] : bytes) {
    const auto& device = key.second;
    if (device.starts_with("loop") || device.starts_with("ram") || device.starts_with("zram"))
      continue;
    StorageUse u;
    u.host = key.first;
    u.name = device;
    u.entity = key.first;
    u.bytes = b;
    if (const auto* r = find(ops, key)) u.ops = *r;
    u.latency = divide(find(time, key), find(ops, key));
    if (const auto* r = find(depth, key)) u.depth = *r;
    if (const auto* r = find(busy, key)) u.busy = *r;
    out.push_back(std::move(u));
  }
}

void add_nfs(const View& view, std::vector<StorageUse>& out) {
  auto bytes = by_label(rate(view, "node_mountstats_nfs_read_bytes_total"), "export");
  const auto reads =
      by_label(rate(view, "node_mountstats_nfs_operations_requests_total", {{"operation", "READ"}}),
               "export");
  const auto response =
      by_label(rate(view, "node_mountstats_nfs_operations_response_time_seconds_total",
                    {{"operation", "READ"}}),
               "export");
  const auto request =
      by_label(rate(view, "node_mountstats_nfs_operations_request_time_seconds_total",
                    {{"operation", "READ"}}),
               "export");
  std::map<Key, Reading> all_time, metadata_time, metadata_ops;
  const auto times = rate(view, "node_mountstats_nfs_operations_request_time_seconds_total");
  for (const auto& r :
       times.empty() ? rate(view, "node_mountstats_nfs_operations_response_time_seconds_total")
                     : times) {
    const Key key{r.entity, label(r, "export")};
    add(all_time[key], r);
    if (is_metadata(label(r, "operation"))) add(metadata_time[key], r);
  }
  for (const auto& r : rate(view, "node_mountstats_nfs_operations_requests_total"))
    if (is_metadata(label(r, "operation"))) add(metadata_ops[{r.entity, label(r, "export")}], r);
  for (const auto& [key, r] : reads) bytes.try_emplace(key, Reading{});
  for (const auto& [key, r] : metadata_ops) bytes.try_emplace(key, Reading{});
  for (const auto& [key, b] : bytes) {
    StorageUse u;
    u.host = key.first;
    u.name = key.second;
    u.entity = "storage/" + key.second;
    u.shared = true;
    u.bytes = b;
    if (const auto* r = find(reads, key)) u.ops = *r;
    u.latency = divide(find(request.empty() ? response : request, key), find(reads, key));
    u.metadata_share = divide(find(metadata_time, key), find(all_time, key));
    if (const auto* r = find(metadata_ops, key)) u.metadata_ops = *r;
    out.push_back(std::move(u));
  }
}

void add_lustre(const View& view, std::vector<StorageUse>& out) {
  for (const auto& [key, b] : by_label(rate(view, "lustre_read_bytes_total"), "target")) {
    StorageUse u;
    u.host = key.first;
    u.name = key.second;
    u.entity = "storage/" + key.second;
    u.shared = true;
    u.bytes = b;
    out.push_back(std::move(u));
  }
}

// The job reads less than a page in a step, by read() or by page faults: what the disk does is for
// others. (What a FUSE daemon reads for it shows in its read_chars.)
bool is_for_others(const View& view, const StorageUse& u) {
  constexpr double kPage = 4096;
  if (u.shared || !(view.attribution.current_s > 0)) return false;
  const double read = own_rate(view, "firstwait_process_read_bytes_total", u.host).now;
  const double chars = own_rate(view, "firstwait_process_read_chars_total", u.host).now;
  return read * view.attribution.current_s < kPage && chars < kRelevantShare.value * u.bytes.now;
}

}  // namespace

std::optional<bool> data_is_remote(const View& view) {
  const auto type = setting(view, "dataset.fstype");
  if (!type || type->empty()) return std::nullopt;
  static constexpr std::string_view kRemote[] = {"nfs",  "lustre", "ceph", "beegfs", "gpfs",
                                                 "cifs", "smb3",   "9p",   "fuse",   "virtiofs"};
  return std::any_of(std::begin(kRemote), std::end(kRemote),
                     [&](std::string_view name) { return type->starts_with(name); });
}

Reading own_rate(const View& view, std::string_view metric, std::string_view host) {
  auto own = rate(view, metric);
  std::erase_if(own, [&](const Reading& r) {
    if (!r.entity.starts_with("rank/")) return r.entity != host;
    const auto rank = parse_int(std::string_view(r.entity).substr(5));
    return !rank || *rank < 0 || *rank > INT32_MAX ||
           host_entity(view, static_cast<int32_t>(*rank)) != host;
  });
  return total_reading(own);
}

std::vector<StorageUse> storage_uses(const View& view) {
  std::vector<StorageUse> out;
  add_nfs(view, out);
  add_lustre(view, out);
  if (!data_is_remote(view).value_or(false)) add_disks(view, out);
  std::erase_if(out, [&](const StorageUse& u) {
    return (!(u.bytes.now > 0) && !(u.ops.now > 0) && !(u.metadata_ops.now > 0)) ||
           is_for_others(view, u);
  });
  // The disk of the data set, where it is known, and no other.
  if (const auto device = setting(view, "dataset.device")) {
    const auto holds_data = [&](const StorageUse& u) {
      return u.name == *device || (!u.shared && device->starts_with(u.name));
    };
    if (std::any_of(out.begin(), out.end(), holds_data))
      std::erase_if(out, [&](const StorageUse& u) { return !holds_data(u); });
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return (known_now(a.bytes) ? a.bytes.now : 0) > (known_now(b.bytes) ? b.bytes.now : 0);
  });
  return out;
}

std::vector<StorageUse> by_storage(const std::vector<StorageUse>& uses) {
  std::vector<StorageUse> out;
  std::map<std::string, size_t> at;
  std::map<std::string, double> weight;
  for (const auto& u : uses) {
    if (!u.shared) {
      out.push_back(u);
      continue;
    }
    const auto [it, fresh] = at.try_emplace(u.entity, out.size());
    if (fresh) {
      out.push_back(u);
      weight[u.entity] = 1;
      continue;
    }
    auto& sum = out[it->second];
    if (known_now(u.bytes)) add(sum.bytes, u.bytes);
    if (known_now(u.ops)) add(sum.ops, u.ops);
    if (known_now(u.metadata_ops)) add(sum.metadata_ops, u.metadata_ops);
    const double n = weight[u.entity];
    for (auto* pair : {&sum.latency, &sum.metadata_share}) {
      const auto& other = pair == &sum.latency ? u.latency : u.metadata_share;
      if (!known_now(other)) continue;
      pair->now = known_now(*pair) ? (pair->now * n + other.now) / (n + 1) : other.now;
      pair->before =
          pair->has_before() ? (pair->before * n + other.before) / (n + 1) : other.before;
    }
    weight[u.entity] = n + 1;
  }
  return out;
}

double flatness(const Reading& r) { return r.now_max > 0 ? r.now / r.now_max : kNaN; }

double storage_limit(const View& view, const StorageUse& use, std::string_view key) {
  auto all = settings(view, key);
  std::erase_if(all, [](const Setting* s) { return s->entity.starts_with("rank/"); });
  for (const auto* s : all)
    if (s->entity == use.entity || s->entity.ends_with(use.name))
      return parse_double(s->value).value_or(kNaN);
  return all.size() == 1 ? parse_double(all.front()->value).value_or(kNaN) : kNaN;
}

double blocked_in_reads(const View& view) {
  const auto loader = loader_facts(view);
  if (loader.busy == loader.busy && loader.reading_share == loader.reading_share)
    return std::min(1.0, loader.busy) * loader.reading_share;
  const auto workers = loader_workers(view);
  const auto delay =
      rate(view, "firstwait_process_block_io_delay_seconds_total", {{"role", "loader"}});
  if (delay.empty() || !workers || !(*workers > 0)) return kNaN;
  const auto ranks = std::max<size_t>(view.evidence.ranks.size(), 1);
  return total_reading(delay).now / (*workers * static_cast<double>(ranks));
}

}  // namespace firstwait
