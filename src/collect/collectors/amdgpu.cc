// AMD GPUs: load, memory, clocks, heat, power and errors as the driver shows them in sysfs.
#include "base/text.h"
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr MetricKind kG = MetricKind::gauge, kC = MetricKind::counter;
// DCGM's names, so that one set of rules reads all GPUs; the label says whose it is.
constexpr Metric kMetrics[] = {
    {"DCGM_FI_DEV_GPU_UTIL", kG, "GPU utilization (in %): the time in which a kernel ran."},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", kG, "Memory utilization (in %)."},
    {"DCGM_FI_DEV_FB_USED", kG, "Framebuffer memory used (in MiB)."},
    {"DCGM_FI_DEV_FB_FREE", kG, "Framebuffer memory free (in MiB)."},
    {"DCGM_FI_DEV_SM_CLOCK", kG, "SM clock frequency (in MHz)."},
    {"DCGM_FI_DEV_GPU_TEMP", kG, "GPU temperature (in C).", 1000},
    {"DCGM_FI_DEV_POWER_USAGE", kG, "Power draw (in W).", 1'000'000},
    {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", kG, "Power limit in force (in W).", 1'000'000},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", kG, "PCIe width now."},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", kC, "Total number of PCIe retries."},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", kC, "Total number of single-bit volatile ECC errors."},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", kC, "Total number of double-bit volatile ECC errors."}};
enum : size_t {
  kUtil,
  kMemUtil,
  kUsed,
  kFree,
  kClock,
  kTemp,
  kPower,
  kLimit,
  kWidth,
  kReplays,
  kCorrected,
  kUncorrected,
  kCount
};

struct Card {
  std::string at, hwmon;
  SeriesId ids[kCount];
  std::vector<File> files;
};
// Files of one integer below the device, or below its hwmon.
struct Plain {
  std::string_view file;
  size_t metric;
  bool hwmon;
};
constexpr Plain kPlain[] = {
    {"gpu_busy_percent", kUtil, false},    {"mem_busy_percent", kMemUtil, false},
    {"current_link_width", kWidth, false}, {"pcie_replay_count", kReplays, false},
    {"temp1_input", kTemp, true},          {"power1_cap", kLimit, true}};

class Amdgpu final : public Sampling {
 public:
  explicit Amdgpu(const World& world) : dir_(world.root.sys + "/class/drm") {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) search(out);
    values_.sample(out);
    for (Card& c : cards_) read(c, out);
    return cards_.empty() ? Presence::absent : Presence::present;
  }

 private:
  void search(Out& out) {
    values_.begin();
    std::vector<Card> found;
    for (const std::string& name : list_directory(dir_, 512)) {
      int64_t number = 0;
      if (!name.starts_with("card") || !whole_number(std::string_view(name).substr(4), number))
        continue;
      const std::string at = dir_ + "/" + name + "/device/";
      if (read_line(at + "vendor").value_or("") != "0x1002" || !read_line(at + "gpu_busy_percent"))
        continue;
      Card c;
      c.at = at;
      for (const std::string& hwmon : list_directory(at + "hwmon", 16))
        c.hwmon = at + "hwmon/" + hwmon + "/";
      const std::string index = std::to_string(found.size());
      const std::string uuid = read_line(at + "unique_id").value_or(""),
                        model = read_line(at + "product_name").value_or("");
      for (size_t i = 0; i < kCount; ++i)
        c.ids[i] = out.series(
            kMetrics[i], {{"gpu", index}, {"UUID", uuid}, {"modelName", model}, {"vendor", "amd"}});
      for (const Plain& p : kPlain)
        values_.add((p.hwmon ? c.hwmon : at) + std::string(p.file), c.ids[p.metric]);
      // The driver names the average on older cards and the present value on newer ones.
      values_.add(
          c.hwmon + (read_line(c.hwmon + "power1_input") ? "power1_input" : "power1_average"),
          c.ids[kPower]);
      for (const char* file :
           {"mem_info_vram_used", "mem_info_vram_total", "pp_dpm_sclk", "ras/umc_err_count"})
        c.files.emplace_back(at + file, true);
      found.push_back(std::move(c));
    }
    values_.end(out);
    cards_ = std::move(found);
  }

  static void read(Card& c, Out& out) {
    int64_t used = 0, total = 0;
    if (out.read_number(c.files[0], used) && out.read_number(c.files[1], total) && total >= used) {
      out.put(c.ids[kUsed], used >> 20);
      out.put(c.ids[kFree], (total - used) >> 20);
    }
    // "1: 1300Mhz *": the star marks the clock of now.
    if (const auto text = out.read(c.files[2])) {
      Scan lines(*text);
      std::string_view line;
      int64_t megahertz = 0;
      while (lines.line(line))
        if (const size_t colon = line.find(':');
            line.find('*') != std::string_view::npos && colon != std::string_view::npos)
          if (Scan(line.substr(colon + 1)).number(megahertz)) out.put(c.ids[kClock], megahertz);
    }
    // "ue: 0\nce: 3"
    if (const auto text = out.read(c.files[3])) {
      int64_t n = 0;
      for (const auto& [key, what] :
           {std::pair<std::string_view, size_t>{"ue:", kUncorrected}, {"ce:", kCorrected}})
        if (const size_t at = text->find(key); at != std::string_view::npos)
          if (Scan(text->substr(at + 3)).number(n)) out.put(c.ids[what], n);
    }
  }

  std::string dir_;
  Occasionally search_;
  SysValues values_;
  std::vector<Card> cards_;
};

}  // namespace

extern const Collector collector_amdgpu{
    .name = "amdgpu",
    .what = "AMD GPUs: load, memory, clocks, heat, power and errors",
    .metrics = kMetrics,
    .reads = "/sys/class/drm/card*/device",
    .needs = "AMD's amdgpu driver",
    .may_hang = true,
    .make = [](const World& w) -> std::unique_ptr<Sampling> {
      return std::make_unique<Amdgpu>(w);
    }};

}  // namespace firstwait
