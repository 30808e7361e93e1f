// Faults that the kernel reports: /dev/kmsg. They become events.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "collect/collector.h"
#include "model/kernel_fault.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {{"firstwait_kernel_faults_total", MetricKind::counter,
                                "Messages of the kernel about faults, by kind of the event."}};

// "6,1234,5678901,-;text": priority, number, microseconds since boot.
struct Record {
  Ns since_boot = 0;
  std::string_view text;
};
bool parse_record(std::string_view line, Record& out) {
  Scan scan(line);
  int64_t micros = 0;
  scan.until(',');
  scan.until(',');
  if (!whole_number(scan.until(','), micros) || micros < 0 || micros > INT64_MAX / 1000)
    return false;
  scan.until(';');
  out.since_boot = micros * 1000;
  out.text = scan.rest();
  return !out.text.empty();
}

class KernelLog final : public Sampling {
 public:
  explicit KernelLog(const World& world)
      : path_(world.root.base + "/dev/kmsg"), host_(world.host) {}
  ~KernelLog() override {
    if (fd_ >= 0) ::close(fd_);
  }

  Presence sample(Out& out) override {
    if (fd_ < 0) fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) return presence_of(errno);
    boot_ = boot_time(out.now());
    char buffer[8192];
    constexpr int kAtOnce = 4096;
    for (int i = 0; i < kAtOnce; ++i) {
      const ssize_t n = ::read(fd_, buffer, sizeof buffer);
      // EPIPE: messages were overwritten before they were read; the next read goes on behind the
      // gap.
      if (n < 0 && errno == EPIPE) {
        out.trouble(path_ + ": messages lost");
        continue;
      }
      if (n < 0 && errno != EAGAIN && errno != EINTR) return presence_of(errno);
      if (n <= 0) break;
      take({buffer, static_cast<size_t>(n)}, out);
    }
    for (auto& [kind, count] : counts_) out.put(kMetrics[0], {{"kind", kind}}, count);
    return Presence::present;
  }

 private:
  // The device gives one record a read; a file stands for it in tests and holds many.
  void take(std::string_view text, Out& out) {
    Scan lines(text);
    std::string_view line;
    while (lines.line(line)) {
      Record record;
      // Lines that begin with a blank continue the record before.
      if (line.empty() || line.front() == ' ' || !parse_record(line, record)) continue;
      auto fault = kernel_fault(record.text);
      if (!fault) continue;
      ++counts_[fault->kind];
      Event event;
      event.kind = std::move(fault->kind);
      const size_t slash = fault->device.find('/');
      event.entity = slash == std::string::npos ? "host/" + host_
                                                : fault->device.substr(0, slash + 1) + host_ + ":" +
                                                      fault->device.substr(slash + 1);
      event.start = boot_ + record.since_boot;
      event.attributes = std::move(fault->attributes);
      constexpr size_t kMessage = 300;
      event.attributes.emplace_back("message", record.text.substr(0, kMessage));
      event.source = path_;
      out.add(std::move(event));
    }
  }

  static Ns boot_time(Ns now) {
    timespec up{};
    ::clock_gettime(CLOCK_MONOTONIC, &up);
    return now - (Ns{up.tv_sec} * 1'000'000'000 + up.tv_nsec);
  }

  std::string path_, host_;
  int fd_ = -1;
  Ns boot_ = 0;
  std::map<std::string, int64_t> counts_;
};

}  // namespace

extern const Collector collector_kernel_log{
    .name = "kernel_log",
    .what =
        "faults that the kernel reports: Xid, links, memory and hardware errors, out of memory, "
        "storage, throttling",
    .metrics = kMetrics,
    .reads = "/dev/kmsg",
    .needs = "CAP_SYSLOG where kernel.dmesg_restrict is 1",
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<KernelLog>(w);
    }};

}  // namespace firstwait
