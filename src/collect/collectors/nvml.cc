// NVIDIA GPUs through their management library: load, memory, clocks and why they are low, heat,
// power, errors, links, who computes on them.
#include <cmath>

#include "collect/nvml_api.h"
#include "collect/processes.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr MetricKind kC = MetricKind::counter, kG = MetricKind::gauge;
constexpr int64_t kMilli = 1000, kMicro = 1'000'000;
enum : size_t {
  kUtil,
  kMemUtil,
  kUsed,
  kFree,
  kSmClock,
  kMemClock,
  kTemp,
  kPower,
  kReasons,
  kXid,
  kSbe,
  kDbe,
  kReplays,
  kGeneration,
  kWidth,
  kMaxGeneration,
  kMaxWidth,
  kFlitCrc,
  kDataCrc,
  kLinkReplay,
  kRecovery,
  kThermalViolation,
  kPowerViolation,
  kMaxSmClock,
  kPowerLimit,
  kPowerLimitDefault,
  kSlowdownTemp,
  kRemapFailure,
  kRemapPending,
  kRemapUncorrectable,
  kRemapCorrectable,
  kSmActive,
  kSmOccupancy,
  kTensor,
  kDram,
  kPcieRx,
  kPcieTx,
  kNvlinkRx,
  kNvlinkTx,
  kLost,
  kProcessCount,
  kLinks,
  kCount
};
constexpr Metric kMetrics[] = {
    {"DCGM_FI_DEV_GPU_UTIL", kG, "GPU utilization (in %): the time in which a kernel ran."},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", kG, "Memory utilization (in %)."},
    {"DCGM_FI_DEV_FB_USED", kG, "Framebuffer memory used (in MiB)."},
    {"DCGM_FI_DEV_FB_FREE", kG, "Framebuffer memory free (in MiB)."},
    {"DCGM_FI_DEV_SM_CLOCK", kG, "SM clock frequency (in MHz)."},
    {"DCGM_FI_DEV_MEM_CLOCK", kG, "Memory clock frequency (in MHz)."},
    {"DCGM_FI_DEV_GPU_TEMP", kG, "GPU temperature (in C)."},
    {"DCGM_FI_DEV_POWER_USAGE", kG, "Power draw (in W).", kMilli},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", kG, "Why the clocks are not at their maximum (bit mask)."},
    {"DCGM_FI_DEV_XID_ERRORS", kG, "Value of the last XID error encountered."},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", kC, "Total number of single-bit volatile ECC errors."},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", kC, "Total number of double-bit volatile ECC errors."},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", kC, "Total number of PCIe retries."},
    {"DCGM_FI_DEV_PCIE_LINK_GEN", kG, "PCIe generation now."},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", kG, "PCIe width now."},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_GEN", kG, "PCIe generation, maximum."},
    {"DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", kG, "PCIe width, maximum."},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", kC,
     "Total number of NVLink flow-control CRC errors."},
    {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", kC,
     "Total number of NVLink data CRC errors."},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", kC, "Total number of NVLink retries."},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", kC,
     "Total number of NVLink recovery errors."},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", kC,
     "Throttling duration due to thermal constraints (in us)."},
    {"DCGM_FI_DEV_POWER_VIOLATION", kC, "Throttling duration due to power constraints (in us)."},
    {"DCGM_FI_DEV_MAX_SM_CLOCK", kG, "Maximum SM clock frequency (in MHz)."},
    {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", kG, "Power limit in force (in W).", kMilli},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF", kG, "Default power limit (in W).", kMilli},
    {"DCGM_FI_DEV_SLOWDOWN_TEMP", kG, "Temperature at which the clocks are slowed down (in C)."},
    {"DCGM_FI_DEV_ROW_REMAP_FAILURE", kG, "Whether remapping of rows has failed."},
    {"DCGM_FI_DEV_ROW_REMAP_PENDING", kG, "Whether remapping of rows waits for a reset."},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", kC,
     "Number of remapped rows for uncorrectable errors."},
    {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", kC,
     "Number of remapped rows for correctable errors."},
    {"DCGM_FI_PROF_SM_ACTIVE", kG, "The ratio of cycles an SM has at least 1 warp assigned.",
     kMicro},
    {"DCGM_FI_PROF_SM_OCCUPANCY", kG, "The ratio of number of warps resident on an SM.", kMicro},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", kG, "Ratio of cycles the tensor (HMMA) pipe is active.",
     kMicro},
    {"DCGM_FI_PROF_DRAM_ACTIVE", kG, "Ratio of cycles the device memory interface is active.",
     kMicro},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", kG, "Rate of data received over PCIe (in bytes per second)."},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", kG, "Rate of data sent over PCIe (in bytes per second)."},
    {"DCGM_FI_PROF_NVLINK_RX_BYTES", kG,
     "Rate of data received over NVLink (in bytes per second)."},
    {"DCGM_FI_PROF_NVLINK_TX_BYTES", kG, "Rate of data sent over NVLink (in bytes per second)."},
    {"firstwait_gpu_lost", kG, "1: the driver says that the GPU is lost."},
    {"firstwait_gpu_processes", kG, "Processes that compute on the GPU, those of others included."},
    {"firstwait_gpu_nvlinks_up", kG, "NVLinks that are up."}};
static_assert(std::size(kMetrics) == kCount);

// GPM's metrics: id, ours, and what its unit is in ours.
struct Gpm {
  unsigned id;
  size_t metric;
  double factor;  // to the raw integer
};
constexpr double kPercent = 1e4, kMebibytes = 1 << 20;
constexpr Gpm kGpm[] = {{2, kSmActive, kPercent},    {3, kSmOccupancy, kPercent},
                        {5, kTensor, kPercent},      {10, kDram, kPercent},
                        {20, kPcieTx, kMebibytes},   {21, kPcieRx, kMebibytes},
                        {60, kNvlinkRx, kMebibytes}, {61, kNvlinkTx, kMebibytes}};
constexpr unsigned kNvlinks = 18;

struct Gpu {
  nvml::Device device = nullptr;
  std::string index, uuid, model, bus;
  SeriesId ids[kCount];
  nvml::GpmSample samples[2] = {nullptr, nullptr};
  int newest = -1;
  int64_t xid = -1;
  bool lost = false;
  uint32_t up = 0;  // NVLinks that are up
};

class Nvml final : public Sampling {
 public:
  explicit Nvml(const World& world)
      : library_(world.nvml),
        host_(world.host),
        processes_(world.processes),
        possible_(world.root.live() || world.nvml.find('/') != std::string::npos) {}

  ~Nvml() override { forget(); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  Presence sample(Out& out) override {
    if (!possible_) return Presence::absent;
    if (!loaded_ && !nvml::load(library_.c_str(), api_)) return Presence::absent;
    loaded_ = true;
    if (!started_) {
      const nvml::Return r = api_.init();
      if (r != nvml::kSuccess)
        return r == nvml::kNoPermission ? Presence::denied : Presence::absent;
      started_ = true;
    }
    if (search_.due(out.now())) search(out);
    const bool slow = slow_.due(out.now());
    xids(out);
    for (Gpu& g : gpus_) {
      often(g, out);
      if (!g.lost) profile(g, out);
      if (slow && !g.lost) seldom(g, out);
    }
    if (slow) users(out);
    return gpus_.empty() ? Presence::absent : Presence::present;
  }

 private:
  void put(Gpu& g, size_t what, int64_t value, Out& out) {
    if (g.ids[what] == kNoSeries)
      g.ids[what] =
          out.series(kMetrics[what], {{"gpu", g.index}, {"UUID", g.uuid}, {"modelName", g.model}});
    out.put(g.ids[what], value);
  }
  void forget() {
    for (Gpu& g : gpus_)
      for (const auto s : g.samples)
        if (s != nullptr && api_.gpm_free != nullptr) api_.gpm_free(s);
    gpus_.clear();
    if (events_ != nullptr && api_.event_set_free != nullptr) api_.event_set_free(events_);
    events_ = nullptr;
  }
  std::string entity(const Gpu& g) const { return "gpu/" + host_ + ":" + g.index; }

  void search(Out& out) {
    unsigned count = 0;
    if (api_.device_count(&count) != nvml::kSuccess || count == gpus_.size()) return;
    forget();
    if (api_.event_set_create != nullptr && api_.event_set_create(&events_) != nvml::kSuccess)
      events_ = nullptr;
    char text[96] = {};
    std::string driver;
    if (api_.driver_version != nullptr && api_.driver_version(text, sizeof text) == nvml::kSuccess)
      driver = text;
    if (!driver.empty())
      out.add(Setting{"host/" + host_, "driver.version", driver, "NVML", out.now()});
    for (unsigned i = 0; i < std::min(count, 64u); ++i) {
      Gpu g;
      if (api_.handle(i, &g.device) != nvml::kSuccess) continue;
      std::fill(std::begin(g.ids), std::end(g.ids), kNoSeries);
      g.index = std::to_string(i);
      if (api_.uuid != nullptr && api_.uuid(g.device, text, sizeof text) == nvml::kSuccess)
        g.uuid = text;
      if (api_.name != nullptr && api_.name(g.device, text, sizeof text) == nvml::kSuccess)
        g.model = text;
      nvml::PciInfo pci{};
      if (api_.pci != nullptr && api_.pci(g.device, &pci) == nvml::kSuccess)
        g.bus.assign(pci.bus_id, ::strnlen(pci.bus_id, sizeof pci.bus_id));
      if (events_ != nullptr && api_.event_register != nullptr)
        api_.event_register(g.device, nvml::kEventXid, events_);
      nvml::GpmSupport support{nvml::kVersion1, 0};
      if (api_.gpm_support != nullptr && api_.gpm_alloc != nullptr && api_.gpm_sample != nullptr &&
          api_.gpm_metrics != nullptr && api_.gpm_support(g.device, &support) == nvml::kSuccess &&
          support.supported != 0)
        for (auto& s : g.samples)
          if (api_.gpm_alloc(&s) != nvml::kSuccess) s = nullptr;
      if (!g.model.empty()) out.add(Setting{entity(g), "gpu.model", g.model, "NVML", out.now()});
      out.add(Entity{entity(g), {{"uuid", g.uuid}, {"model", g.model}, {"pci", g.bus}}});
      gpus_.push_back(std::move(g));
    }
  }

  // A value that the GPU does not have is absent, and so is everything of a GPU that is lost.
  template <typename T, typename... Args>
  bool get(Gpu& g, nvml::Return (*function)(nvml::Device, Args...), T& value) {
    if (function == nullptr || g.lost) return false;
    const nvml::Return r = function(g.device, &value);
    if (r == nvml::kGpuIsLost) g.lost = true;
    return r == nvml::kSuccess;
  }

  void often(Gpu& g, Out& out) {
    const bool was_lost = g.lost;
    g.lost = false;
    nvml::Utilization use{};
    if (get(g, api_.utilization, use)) {
      put(g, kUtil, use.gpu, out);
      put(g, kMemUtil, use.memory, out);
    }
    nvml::Memory memory{};
    if (get(g, api_.memory, memory)) {
      put(g, kUsed, static_cast<int64_t>(memory.used >> 20), out);
      put(g, kFree, static_cast<int64_t>(memory.free >> 20), out);
    }
    unsigned value = 0;
    for (const auto& [type, what] :
         {std::pair{nvml::kClockSm, kSmClock}, {nvml::kClockMemory, kMemClock}})
      if (!g.lost && api_.clock != nullptr && api_.clock(g.device, type, &value) == nvml::kSuccess)
        put(g, what, value, out);
    unsigned long long reasons = 0;
    if (get(g, api_.reasons, reasons)) put(g, kReasons, static_cast<int64_t>(reasons), out);
    if (!g.lost && api_.temperature != nullptr &&
        api_.temperature(g.device, 0, &value) == nvml::kSuccess)
      put(g, kTemp, value, out);
    if (get(g, api_.power, value)) put(g, kPower, value, out);
    if (get(g, api_.pcie_replays, value)) put(g, kReplays, value, out);
    if (get(g, api_.pcie_generation, value)) put(g, kGeneration, value, out);
    if (get(g, api_.pcie_width, value)) put(g, kWidth, value, out);
    for (const auto& [policy, what] : {std::pair{0u, kPowerViolation}, {1u, kThermalViolation}}) {
      nvml::ViolationTime time{};
      if (!g.lost && api_.violation != nullptr &&
          api_.violation(g.device, policy, &time) == nvml::kSuccess)
        put(g, what, static_cast<int64_t>(time.violation_time / 1000), out);
    }
    if (g.xid >= 0) put(g, kXid, g.xid, out);
    put(g, kLost, g.lost ? 1 : 0, out);
    if (g.lost && !was_lost)
      out.add(Event{
          "gpu_lost", entity(g), out.now(), kNoTime, {{"uuid", g.uuid}, {"bus", g.bus}}, "NVML"});
  }

  void profile(Gpu& g, Out& out) {
    if (g.samples[0] == nullptr || g.samples[1] == nullptr) return;
    const int next = g.newest == 0 ? 1 : 0;
    if (api_.gpm_sample(g.device, g.samples[next]) != nvml::kSuccess) {
      g.newest = -1;
      return;
    }
    if (g.newest >= 0) {
      gpm_ = {};
      gpm_.version = nvml::kVersion1;
      gpm_.count = static_cast<unsigned>(std::size(kGpm));
      gpm_.first = g.samples[g.newest];
      gpm_.second = g.samples[next];
      for (size_t i = 0; i < std::size(kGpm); ++i) gpm_.metrics[i].id = kGpm[i].id;
      if (api_.gpm_metrics(&gpm_) == nvml::kSuccess)
        for (size_t i = 0; i < std::size(kGpm); ++i) {
          const nvml::GpmMetric& m = gpm_.metrics[i];
          const double raw = m.value * kGpm[i].factor;
          if (m.result == nvml::kSuccess && std::isfinite(raw) && std::fabs(raw) < 9e18)
            put(g, kGpm[i].metric, static_cast<int64_t>(std::llround(raw)), out);
        }
    }
    g.newest = next;
  }

  void seldom(Gpu& g, Out& out) {
    unsigned long long count = 0;
    for (const auto& [type, what] : {std::pair{nvml::kCorrected, kSbe}, {nvml::kUncorrected, kDbe}})
      if (api_.ecc != nullptr &&
          api_.ecc(g.device, type, nvml::kVolatile, &count) == nvml::kSuccess)
        put(g, what, static_cast<int64_t>(count), out);
    unsigned corrected = 0, uncorrected = 0, pending = 0, failure = 0, value = 0;
    if (api_.remapped != nullptr &&
        api_.remapped(g.device, &corrected, &uncorrected, &pending, &failure) == nvml::kSuccess) {
      put(g, kRemapCorrectable, corrected, out);
      put(g, kRemapUncorrectable, uncorrected, out);
      put(g, kRemapPending, pending, out);
      put(g, kRemapFailure, failure, out);
    }
    if (get(g, api_.pcie_max_generation, value)) put(g, kMaxGeneration, value, out);
    if (get(g, api_.pcie_max_width, value)) put(g, kMaxWidth, value, out);
    if (get(g, api_.power_limit, value)) put(g, kPowerLimit, value, out);
    if (get(g, api_.power_default_limit, value)) put(g, kPowerLimitDefault, value, out);
    if (api_.max_clock != nullptr &&
        api_.max_clock(g.device, nvml::kClockSm, &value) == nvml::kSuccess)
      put(g, kMaxSmClock, value, out);
    constexpr unsigned kSlowdown = 1;
    if (api_.temperature_threshold != nullptr &&
        api_.temperature_threshold(g.device, kSlowdown, &value) == nvml::kSuccess)
      put(g, kSlowdownTemp, value, out);
    links(g, out);
  }

  void links(Gpu& g, Out& out) {
    if (api_.nvlink_state == nullptr || api_.nvlink_errors == nullptr) return;
    constexpr size_t kWhat[] = {kLinkReplay, kRecovery, kFlitCrc, kDataCrc};  // in NVML's order
    int64_t sums[4] = {}, up = 0;
    bool known[4] = {}, any = false;
    for (unsigned link = 0; link < kNvlinks; ++link) {
      unsigned active = 0;
      if (api_.nvlink_state(g.device, link, &active) != nvml::kSuccess) break;
      any = true;
      if (active == 0) continue;
      ++up;
      for (unsigned i = 0; i < 4; ++i) {
        unsigned long long errors = 0;
        if (api_.nvlink_errors(g.device, link, i, &errors) != nvml::kSuccess) continue;
        sums[i] += static_cast<int64_t>(errors);
        known[i] = true;
      }
    }
    for (size_t i = 0; i < 4; ++i)
      if (known[i]) put(g, kWhat[i], sums[i], out);
    if (any) put(g, kLinks, up, out);
  }

  void xids(Out& out) {
    if (events_ == nullptr || api_.event_wait == nullptr) return;
    nvml::EventData data{};
    constexpr int kAtOnce = 64;
    for (int i = 0; i < kAtOnce && api_.event_wait(events_, &data, 0) == nvml::kSuccess; ++i)
      for (Gpu& g : gpus_) {
        if (g.device != data.device || data.type != nvml::kEventXid) continue;
        g.xid = static_cast<int64_t>(data.data);
        out.add(Event{"xid",
                      entity(g),
                      out.now(),
                      kNoTime,
                      {{"code", std::to_string(data.data)}, {"bus", g.bus}, {"uuid", g.uuid}},
                      "NVML"});
      }
  }

  // Who computes on which GPU.
  void users(Out& out) {
    if (api_.processes == nullptr) return;
    std::map<int32_t, std::string> by_pid;
    std::vector<Relation> relations;
    for (Gpu& g : gpus_) {
      if (g.lost) continue;
      users_.resize(256);
      auto count = static_cast<unsigned>(users_.size());
      if (api_.processes(g.device, &count, users_.data()) != nvml::kSuccess) continue;
      count = std::min(count, static_cast<unsigned>(users_.size()));
      put(g, kProcessCount, count, out);
      for (unsigned i = 0; i < count; ++i) {
        const auto pid = static_cast<int32_t>(users_[i].pid);
        by_pid[pid] = g.index;
        const std::string id = "process/" + host_ + ":" + std::to_string(pid);
        relations.push_back({id, "uses", entity(g), "", kNoTime, kNoTime});
        if (const auto comm = read_line("/proc/" + std::to_string(pid) + "/comm"))
          out.add(Entity{id, {{"name", *comm}}});
      }
    }
    out.relate("nvml", std::move(relations));
    if (processes_) processes_->set_gpus(std::move(by_pid));
  }

  std::string library_, host_;
  std::shared_ptr<Processes> processes_;
  bool possible_, loaded_ = false, started_ = false;
  nvml::Api api_;
  nvml::EventSet events_ = nullptr;
  nvml::GpmMetrics gpm_{};
  std::vector<nvml::ProcessInfo> users_;
  Occasionally search_, slow_{Ns{5} * 1'000'000'000};
  std::vector<Gpu> gpus_;
};

}  // namespace

extern const Collector collector_nvml{
    .name = "nvml",
    .what =
        "NVIDIA GPUs: load, memory, clocks and why they are low, heat, power, errors, links, who "
        "computes on them",
    .metrics = kMetrics,
    .reads = "libnvidia-ml.so.1",
    .needs =
        "NVIDIA's driver; SM activity needs Hopper or newer, or dcgm-exporter with its "
        "DCGM_FI_PROF fields",
    .may_hang = true,
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Nvml>(w); }};

}  // namespace firstwait
