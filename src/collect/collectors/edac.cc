// Memory errors that were corrected or not, by controller and row: EDAC.
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_edac_correctable_errors_total", MetricKind::counter, "Total correctable memory errors."},
    {"node_edac_uncorrectable_errors_total", MetricKind::counter,
     "Total uncorrectable memory errors."},
    {"node_edac_csrow_correctable_errors_total", MetricKind::counter,
     "Total correctable memory errors for this csrow."},
    {"node_edac_csrow_uncorrectable_errors_total", MetricKind::counter,
     "Total uncorrectable memory errors for this csrow."}};

class Edac final : public Sampling {
 public:
  explicit Edac(const World& world) : dir_(world.root.sys + "/devices/system/edac/mc/") {}

  Presence sample(Out& out) override {
    if (search_.due(out.now())) search(out);
    return values_.sample(out) ? Presence::present
           : values_.empty()   ? Presence::absent
                               : presence_of(values_.error());
  }

 private:
  void search(Out& out) {
    values_.begin();
    for (const std::string& name : list_directory(dir_, 256)) {
      int64_t number = 0;
      if (!name.starts_with("mc") || !whole_number(std::string_view(name).substr(2), number))
        continue;
      const std::string at = dir_ + name + "/", controller = name.substr(2);
      values_.add(at + "ce_count", out.series(kMetrics[0], {{"controller", controller}}));
      values_.add(at + "ue_count", out.series(kMetrics[1], {{"controller", controller}}));
      const auto row = [&](const std::string& path, const std::string& which, const char* ce,
                           const char* ue) {
        values_.add(path + ce,
                    out.series(kMetrics[2], {{"controller", controller}, {"csrow", which}}));
        values_.add(path + ue,
                    out.series(kMetrics[3], {{"controller", controller}, {"csrow", which}}));
      };
      // Errors whose place the controller could not tell.
      row(at, "unknown", "ce_noinfo_count", "ue_noinfo_count");
      for (const std::string& sub : list_directory(at, 256))
        if (sub.starts_with("csrow")) row(at + sub + "/", sub.substr(5), "ce_count", "ue_count");
    }
    values_.end(out);
  }

  std::string dir_;
  Occasionally search_{Ns{300} * 1'000'000'000};
  SysValues values_;
};

}  // namespace

extern const Collector collector_edac{
    .name = "edac",
    .what = "memory errors, corrected and not, by controller and row",
    .metrics = kMetrics,
    .reads = "/sys/devices/system/edac/mc",
    .needs = "memory with ECC and its EDAC driver",
    .period = 10'000'000'000,
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Edac>(w); }};

}  // namespace firstwait
