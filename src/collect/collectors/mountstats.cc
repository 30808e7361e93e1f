// What each NFS mount did, by operation: /proc/self/mountstats.
#include "collect/collector.h"

namespace firstwait {
namespace {

constexpr int64_t kMilli = 1000;
constexpr MetricKind kCounter = MetricKind::counter, kGauge = MetricKind::gauge;

constexpr Metric kAge = {"node_mountstats_nfs_age_seconds_total", kCounter,
                         "The age of the NFS mount in seconds."};
constexpr Metric kBytes[] = {
    {"node_mountstats_nfs_read_bytes_total", kCounter,
     "Number of bytes read using the read() syscall."},
    {"node_mountstats_nfs_write_bytes_total", kCounter,
     "Number of bytes written using the write() syscall."},
    {"node_mountstats_nfs_direct_read_bytes_total", kCounter,
     "Number of bytes read using the read() syscall in O_DIRECT mode."},
    {"node_mountstats_nfs_direct_write_bytes_total", kCounter,
     "Number of bytes written using the write() syscall in O_DIRECT mode."},
    {"node_mountstats_nfs_total_read_bytes_total", kCounter,
     "Number of bytes read from the NFS server, in total."},
    {"node_mountstats_nfs_total_write_bytes_total", kCounter,
     "Number of bytes written to the NFS server, in total."},
    {"node_mountstats_nfs_read_pages_total", kCounter,
     "Number of pages read directly via mmap()'d files."},
    {"node_mountstats_nfs_write_pages_total", kCounter,
     "Number of pages written directly via mmap()'d files."}};
constexpr Metric kEvents[] = {
    {"node_mountstats_nfs_event_inode_revalidate_total", kCounter,
     "Number of times cached inode attributes are re-validated from the server."},
    {"node_mountstats_nfs_event_dnode_revalidate_total", kCounter,
     "Number of times cached dentry nodes are re-validated from the server."},
    {"node_mountstats_nfs_event_data_invalidate_total", kCounter,
     "Number of times an inode cache is cleared."},
    {"node_mountstats_nfs_event_attribute_invalidate_total", kCounter,
     "Number of times cached inode attributes are invalidated."},
    {"node_mountstats_nfs_event_vfs_open_total", kCounter,
     "Number of times cached inode attributes are invalidated."},
    {"node_mountstats_nfs_event_vfs_lookup_total", kCounter,
     "Number of times a directory lookup has occurred."},
    {"node_mountstats_nfs_event_vfs_access_total", kCounter,
     "Number of times permissions have been checked."},
    {"node_mountstats_nfs_event_vfs_update_page_total", kCounter,
     "Number of updates (and potential writes) to pages."},
    {"node_mountstats_nfs_event_vfs_read_page_total", kCounter,
     "Number of pages read directly via mmap()'d files."},
    {"node_mountstats_nfs_event_vfs_read_pages_total", kCounter,
     "Number of times a group of pages have been read."},
    {"node_mountstats_nfs_event_vfs_write_page_total", kCounter,
     "Number of pages written directly via mmap()'d files."},
    {"node_mountstats_nfs_event_vfs_write_pages_total", kCounter,
     "Number of times a group of pages have been written."},
    {"node_mountstats_nfs_event_vfs_getdents_total", kCounter,
     "Number of times directory entries have been read with getdents()."},
    {"node_mountstats_nfs_event_vfs_setattr_total", kCounter,
     "Number of times directory entries have been read with getdents()."},
    {"node_mountstats_nfs_event_vfs_flush_total", kCounter,
     "Number of pending writes that have been forcefully flushed to the server."},
    {"node_mountstats_nfs_event_vfs_fsync_total", kCounter,
     "Number of times fsync() has been called on directories and files."},
    {"node_mountstats_nfs_event_vfs_lock_total", kCounter,
     "Number of times locking has been attempted on a file."},
    {"node_mountstats_nfs_event_vfs_file_release_total", kCounter,
     "Number of times files have been closed and released."},
    {"", kCounter, ""},  // congestion wait: no longer counted by kernels
    {"node_mountstats_nfs_event_truncation_total", kCounter,
     "Number of times files have been truncated."},
    {"node_mountstats_nfs_event_write_extension_total", kCounter,
     "Number of times a file has been grown due to writes beyond its existing end."},
    {"node_mountstats_nfs_event_silly_rename_total", kCounter,
     "Number of times a file was removed while still open by another process."},
    {"node_mountstats_nfs_event_short_read_total", kCounter,
     "Number of times the NFS server gave less data than expected while reading."},
    {"node_mountstats_nfs_event_short_write_total", kCounter,
     "Number of times the NFS server wrote less data than expected while writing."},
    {"node_mountstats_nfs_event_jukebox_delay_total", kCounter,
     "Number of times the NFS server indicated EJUKEBOX; retrieving data from offline storage."},
    {"node_mountstats_nfs_event_pnfs_read_total", kCounter, "Number of NFS v4.1+ pNFS reads."},
    {"node_mountstats_nfs_event_pnfs_write_total", kCounter, "Number of NFS v4.1+ pNFS writes."}};
constexpr Metric kOperations[] = {
    {"node_mountstats_nfs_operations_requests_total", kCounter,
     "Number of requests performed for a given operation."},
    {"node_mountstats_nfs_operations_transmissions_total", kCounter,
     "Number of times an actual RPC request has been transmitted for a given operation."},
    {"node_mountstats_nfs_operations_major_timeouts_total", kCounter,
     "Number of times a request has had a major timeout for a given operation."},
    {"node_mountstats_nfs_operations_sent_bytes_total", kCounter,
     "Number of bytes sent for a given operation, including RPC headers and payload."},
    {"node_mountstats_nfs_operations_received_bytes_total", kCounter,
     "Number of bytes received for a given operation, including RPC headers and payload."},
    {"node_mountstats_nfs_operations_queue_time_seconds_total", kCounter,
     "Duration all requests spent queued for transmission for a given operation before they were "
     "sent, in seconds.",
     kMilli},
    {"node_mountstats_nfs_operations_response_time_seconds_total", kCounter,
     "Duration all requests took to get a reply back after a request for a given operation was "
     "transmitted, in seconds.",
     kMilli},
    {"node_mountstats_nfs_operations_request_time_seconds_total", kCounter,
     "Duration all requests took from when a request was enqueued to when it was completely "
     "handled for a given operation, "
     "in seconds.",
     kMilli}};
constexpr Metric kTransport[] = {
    {"node_mountstats_nfs_transport_bind_total", kCounter,
     "Number of times the client has had to establish a connection from scratch to the NFS "
     "server."},
    {"node_mountstats_nfs_transport_connect_total", kCounter,
     "Number of times the client has made a TCP connection to the NFS server."},
    {"node_mountstats_nfs_transport_idle_time_seconds", kGauge,
     "Duration since the NFS mount last saw any RPC traffic, in seconds."},
    {"node_mountstats_nfs_transport_sends_total", kCounter,
     "Number of RPC requests for this mount sent to the NFS server."},
    {"node_mountstats_nfs_transport_receives_total", kCounter,
     "Number of RPC responses for this mount received from the NFS server."},
    {"node_mountstats_nfs_transport_bad_transaction_ids_total", kCounter,
     "Number of times the NFS server sent a response with a transaction ID unknown to this "
     "client."},
    {"node_mountstats_nfs_transport_backlog_queue_total", kCounter,
     "Total number of items added to the RPC backlog queue."},
    {"node_mountstats_nfs_transport_maximum_rpc_slots", kGauge,
     "Maximum number of simultaneously active RPC requests ever used."},
    {"node_mountstats_nfs_transport_sending_queue_total", kCounter,
     "Total number of items added to the RPC transmission sending queue."},
    {"node_mountstats_nfs_transport_pending_queue_total", kCounter,
     "Total number of items added to the RPC transmission pending queue."}};

// All in one table, as the descriptor wants them.
constexpr auto kMetrics = [] {
  std::array<Metric, 1 + std::size(kBytes) + std::size(kEvents) - 1 + std::size(kOperations) +
                         std::size(kTransport)>
      all{};
  size_t n = 0;
  all[n++] = kAge;
  for (const auto& m : kBytes) all[n++] = m;
  for (const auto& m : kEvents)
    if (!m.name.empty()) all[n++] = m;
  for (const auto& m : kOperations) all[n++] = m;
  for (const auto& m : kTransport) all[n++] = m;
  return all;
}();

// Where the transport's numbers stand behind "xprt: tcp" and "xprt: udp"; -1: this transport has no
// such number.
constexpr int kTcp[] = {1, 2, 4, 5, 6, 7, 9, 10, 11, 12};
constexpr int kUdp[] = {1, -1, -1, 2, 3, 4, 6, 7, 8, 9};

struct Mount {
  std::string server, address, protocol;
  SeriesId age = kNoSeries;
  SeriesId bytes[8], events[27], transport[10];
  ByPosition<std::array<SeriesId, 8>> operations;
  bool done = false;  // its export was seen already in this sampling
};

class Mountstats final : public Sampling {
 public:
  explicit Mountstats(const World& world)
      : first_(world.root.proc + "/1/mountstats"),
        self_(world.root.proc + "/self/mountstats"),
        proc_(world.root.proc),
        live_(world.root.live()) {}

  Presence sample(Out& out) override {
    // In a container the host's mounts are those of its first process.
    std::optional<std::string_view> text;
    if (!live_) text = out.read(first_);
    if (!text) text = out.read(self_);
    if (!text) return presence_of(self_.error());
    mounts_.begin();
    mounts_.each([](std::string_view, std::unique_ptr<Mount>& m) { m->done = false; });
    Scan lines(*text);
    std::string_view line;
    bool any = false, more = lines.line(line);
    while (more) {
      if (line.starts_with("device ") && is_nfs(line)) {
        any = true;
        more = mount(line, lines, out);
      } else {
        more = lines.line(line);
      }
    }
    mounts_.sweep([&](std::unique_ptr<Mount>& m) { release(*m, out); });
    return any ? Presence::present : Presence::absent;
  }

 private:
  static bool is_nfs(std::string_view line) {
    const size_t at = line.find(" with fstype ");
    if (at == std::string_view::npos) return false;
    Scan scan(line.substr(at + 13));
    const std::string_view type = scan.word();
    return (type == "nfs" || type == "nfs4") && line.find(" statvers=") != std::string_view::npos;
  }

  // The value of "name=" in a list with commas.
  static std::string_view option(std::string_view options, std::string_view name) {
    for (size_t at = 0; at < options.size();) {
      const size_t comma = std::min(options.find(',', at), options.size());
      const std::string_view o = options.substr(at, comma - at);
      if (o.starts_with(name)) return o.substr(name.size());
      at = comma + 1;
    }
    return {};
  }

  // Reads up to the next "device" line, which is left in `line`; false at the end.
  bool mount(std::string_view& line, Scan& lines, Out& out) {
    Scan head(line.substr(7));
    const std::string_view server = head.word();
    head.skip(2);
    const std::string_view point = head.word();
    std::string_view address, protocol, age, bytes, events, xprt;
    bool in_operations = false, more = false;
    Mount* m = nullptr;
    while ((more = lines.line(line))) {
      if (line.starts_with("device ")) break;
      Scan scan(line);
      const std::string_view word = scan.word();
      if (in_operations) {
        if (m != nullptr && word.ends_with(":"))
          operation(*m, word.substr(0, word.size() - 1), scan, out);
      } else if (word == "opts:") {
        const std::string_view options = scan.word();
        address = address_of(point);
        if (address.empty()) address = option(options, "mountaddr=");
        protocol = option(options, "proto=");
      } else if (word == "age:") {
        age = scan.rest();
      } else if (word == "bytes:") {
        bytes = scan.rest();
      } else if (word == "events:") {
        events = scan.rest();
      } else if (word == "xprt:") {
        xprt = scan.rest();
        protocol = scan.word();
      } else if (word == "per-op") {
        in_operations = true;
        m = find(server, protocol, address, out);
        if (m != nullptr) numbers(*m, age, bytes, events, xprt, out);
      }
    }
    return more;
  }

  // The server's address, which only the list of mounts tells; it is read again when a mount is
  // new.
  std::string_view address_of(std::string_view point) {
    const auto known = addresses_.find(point);
    if (known != addresses_.end()) return known->second;
    if (addresses_.size() > 1000) addresses_.clear();
    std::string& address = addresses_[std::string(point)];
    for (const char* where : {"/self/mountinfo", "/1/mountinfo"}) {
      const auto text = read_whole(proc_ + where, 4 << 20);
      Scan lines(text ? std::string_view(*text) : std::string_view());
      std::string_view line;
      while (lines.line(line)) {
        Scan scan(line);
        if (!scan.skip(4) || scan.word() != point) continue;
        const size_t dash = line.find(" - nfs");
        if (dash == std::string_view::npos) continue;
        Scan tail(line.substr(dash + 3));
        tail.skip(2);
        address = option(tail.word(), "addr=");
      }
      if (!address.empty()) break;
    }
    return address;
  }

  // Null when this export was seen already: mounts of one export share their numbers.
  Mount* find(std::string_view server, std::string_view protocol, std::string_view address,
              Out& out) {
    const std::string key =
        std::string(server) + ' ' + std::string(protocol) + ' ' + std::string(address);
    auto* slot = mounts_.get(key, [&](std::string_view) {
      auto fresh = std::make_unique<Mount>();
      fresh->server = server;
      fresh->address = address;
      fresh->protocol = protocol;
      const auto series = [&](const Metric& metric) {
        return metric.name.empty()
                   ? kNoSeries
                   : out.series(
                         metric,
                         {{"export", server}, {"mountaddr", address}, {"protocol", protocol}});
      };
      fresh->age = series(kAge);
      for (size_t i = 0; i < std::size(kBytes); ++i) fresh->bytes[i] = series(kBytes[i]);
      for (size_t i = 0; i < std::size(kEvents); ++i) fresh->events[i] = series(kEvents[i]);
      for (size_t i = 0; i < std::size(kTransport); ++i)
        fresh->transport[i] = out.series(kTransport[i], {{"export", server},
                                                         {"mountaddr", address},
                                                         {"protocol", protocol},
                                                         {"transport", "0"}});
      return fresh;
    });
    if (slot == nullptr || (*slot)->done) return nullptr;
    (*slot)->done = true;
    (*slot)->operations.begin();
    return slot->get();
  }

  static void numbers(Mount& m, std::string_view age, std::string_view bytes,
                      std::string_view events, std::string_view xprt, Out& out) {
    int64_t value = 0;
    if (whole_number(age, value)) out.put(m.age, value);
    Scan byte_scan(bytes), event_scan(events);
    for (size_t i = 0; i < 8 && byte_scan.number(value); ++i) out.put(m.bytes[i], value);
    for (size_t i = 0; i < 27 && event_scan.number(value); ++i) out.put(m.events[i], value);
    Scan scan(xprt);
    const std::string_view protocol = scan.word();
    const int* where = protocol == "tcp" ? kTcp : protocol == "udp" ? kUdp : nullptr;
    if (where == nullptr) return;
    int64_t row[13];
    size_t n = 0;
    while (n < 13 && scan.number(row[n])) ++n;
    for (size_t i = 0; i < std::size(kTransport); ++i) {
      // What a transport does not have is 0, as node_exporter has it.
      if (where[i] < 0)
        out.put(m.transport[i], 0);
      else if (static_cast<size_t>(where[i]) < n)
        out.put(m.transport[i], row[where[i]]);
    }
  }

  static void operation(Mount& m, std::string_view name, Scan& scan, Out& out) {
    // Kernels print times that became negative as numbers near 2^64: those are absent.
    int64_t values[8];
    bool known[8];
    for (size_t i = 0; i < 8; ++i) {
      known[i] = scan.number(values[i]);
      if (known[i]) continue;
      out.trouble("/proc/self/mountstats: " + std::string(name.substr(0, 40)));
      if (scan.word().empty()) return;
    }
    auto* ids = m.operations.get(name, [&](std::string_view op) {
      std::array<SeriesId, 8> fresh{};
      for (size_t i = 0; i < 8; ++i)
        fresh[i] = out.series(kOperations[i], {{"export", m.server},
                                               {"mountaddr", m.address},
                                               {"operation", op},
                                               {"protocol", m.protocol}});
      return fresh;
    });
    for (size_t i = 0; ids != nullptr && i < 8; ++i)
      if (known[i]) out.put((*ids)[i], values[i]);
  }

  static void release(Mount& m, Out& out) {
    out.release(m.age);
    for (const SeriesId id : m.bytes) out.release(id);
    for (const SeriesId id : m.events) out.release(id);
    for (const SeriesId id : m.transport) out.release(id);
    m.operations.each([&](std::string_view, const std::array<SeriesId, 8>& ids) {
      for (const SeriesId id : ids) out.release(id);
    });
  }

  File first_, self_;
  std::string proc_;
  bool live_;
  std::map<std::string, std::string, std::less<>> addresses_;
  ByPosition<std::unique_ptr<Mount>> mounts_;
};

}  // namespace

extern const Collector collector_mountstats{
    .name = "mountstats",
    .what = "requests, bytes and times of each NFS mount, by operation",
    .metrics = kMetrics,
    .reads = "/proc/self/mountstats",
    .needs = "an NFS mount; in a container, the host's mount namespace",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Mountstats>(w);
    }};

}  // namespace firstwait
