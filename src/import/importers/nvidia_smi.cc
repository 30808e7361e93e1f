// nvidia-smi: `-q` text, `-q -x` XML, `--query-gpu … --format=csv`, and captures that hold several
// of them.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>

#include "base/text.h"
#include "import/importer.h"
#include "import/json_fields.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"bad_xml", Severity::data_loss,
     "the XML is cut or damaged; run `nvidia-smi -q -x` again. What came before was read"},
    {"no_time", Severity::data_loss,
     "the output names no time and the file's time is unknown; add `timestamp` to the query"},
    {"short_row", Severity::data_loss,
     "a CSV row has fewer fields than its header; record it again"},
    {"too_large", Severity::data_loss, "the file exceeds 256 MiB; record less often or split it"}};
enum : size_t { kBadXml, kNoTimes, kShortRow, kTooLarge };

// What is known of one GPU in one record: normalised path -> text. "Clocks Event Reasons" is
// clocks_event_reasons.
using Fields = std::map<std::string, std::string, std::less<>>;

std::string normalised(std::string_view name) {
  std::string out;
  for (const char c : trim(name)) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c - 'A' + 'a');
    } else if (word) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

// The first of `paths` that holds a value; N/A and its relatives are none.
std::string_view value_of(const Fields& fields, std::initializer_list<std::string_view> paths) {
  for (const auto path : paths) {
    const auto found = fields.find(path);
    if (found == fields.end()) continue;
    const std::string_view v = trim(found->second);
    if (v.empty() || v.starts_with("N/A") || v.starts_with("[") ||
        v.starts_with("Requested functionality") || v == "Unknown Error" ||
        v == "GPU requires reset")
      continue;
    return v;
  }
  return {};
}

// The number in front of a unit: "43.89 W", "16x", "0x0000000000000004".
double number_of(std::string_view text) {
  if (text.starts_with("0x")) {
    uint64_t bits = 0;
    for (const char c : text.substr(2)) {
      const bool digit = c >= '0' && c <= '9';
      const char l = static_cast<char>(c | 0x20);
      if (!digit && (l < 'a' || l > 'f')) return kNaN;
      bits = bits * 16 + static_cast<uint64_t>(digit ? c - '0' : l - 'a' + 10);
    }
    return static_cast<double>(bits);
  }
  const size_t end = std::min(text.find_first_not_of("0123456789.-+"), text.size());
  return parse_double(text.substr(0, end)).value_or(kNaN);
}

struct Item {
  std::string_view name;
  std::initializer_list<std::string_view>
      paths;  // -q text, XML, CSV; later ones are older spellings
};

// Samples under the names that dcgm-exporter uses, in its units.
const Item kSamples[] = {
    {"DCGM_FI_DEV_GPU_UTIL", {"utilization/gpu", "utilization/gpu_util", "utilization.gpu"}},
    {"DCGM_FI_DEV_MEM_COPY_UTIL",
     {"utilization/memory", "utilization/memory_util", "utilization.memory"}},
    {"DCGM_FI_DEV_FB_USED", {"fb_memory_usage/used", "memory.used"}},
    {"DCGM_FI_DEV_FB_FREE", {"fb_memory_usage/free", "memory.free"}},
    {"DCGM_FI_DEV_SM_CLOCK", {"clocks/sm", "clocks/sm_clock", "clocks.current.sm", "clocks.sm"}},
    {"DCGM_FI_DEV_MEM_CLOCK",
     {"clocks/memory", "clocks/mem_clock", "clocks.current.memory", "clocks.mem"}},
    {"DCGM_FI_DEV_GPU_TEMP",
     {"temperature/gpu_current_temp", "temperature/gpu_temp", "temperature.gpu"}},
    {"DCGM_FI_DEV_POWER_USAGE",
     {"gpu_power_readings/power_draw", "gpu_power_readings/average_power_draw",
      "gpu_power_readings/instantaneous_power_draw", "gpu_power_readings/instant_power_draw",
      "power_readings/power_draw", "power.draw", "power.draw.average", "power.draw.instant"}},
    {"DCGM_FI_DEV_PCIE_LINK_GEN",
     {"pci/gpu_link_info/pcie_generation/current",
      "pci/pci_gpu_link_info/pcie_gen/current_link_gen", "pcie.link.gen.current",
      "pcie.link.gen.gpucurrent"}},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH",
     {"pci/gpu_link_info/link_width/current",
      "pci/pci_gpu_link_info/link_widths/current_link_width", "pcie.link.width.current"}},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", {"pci/replays_since_reset", "pci/replay_counter"}},
};

const Item kSettings[] = {
    {"gpu.model", {"product_name", "name", "gpu_name"}},
    {"gpu.uuid", {"gpu_uuid", "uuid"}},
    {"gpu.bus_id", {"bus_id", "pci/bus_id", "pci/pci_bus_id", "pci.bus_id", "gpu_bus_id"}},
    {"pcie.link_gen",
     {"pci/gpu_link_info/pcie_generation/current",
      "pci/pci_gpu_link_info/pcie_gen/current_link_gen", "pcie.link.gen.current",
      "pcie.link.gen.gpucurrent"}},
    {"pcie.link_gen_max",
     {"pci/gpu_link_info/pcie_generation/max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
      "pcie.link.gen.max"}},
    {"pcie.link_width",
     {"pci/gpu_link_info/link_width/current",
      "pci/pci_gpu_link_info/link_widths/current_link_width", "pcie.link.width.current"}},
    {"pcie.link_width_max",
     {"pci/gpu_link_info/link_width/max", "pci/pci_gpu_link_info/link_widths/max_link_width",
      "pcie.link.width.max"}},
    {"gpu.power_limit",
     {"gpu_power_readings/current_power_limit", "gpu_power_readings/power_limit",
      "power_readings/enforced_power_limit", "power_readings/power_limit", "enforced.power.limit",
      "power.limit"}},
    {"gpu.power_limit_default",
     {"gpu_power_readings/default_power_limit", "power_readings/default_power_limit",
      "power.default_limit"}},
    {"gpu.power_limit_max",
     {"gpu_power_readings/max_power_limit", "power_readings/max_power_limit", "power.max_limit"}},
    {"gpu.slowdown_temperature",
     {"temperature/gpu_slowdown_temp", "temperature/gpu_temp_slow_threshold"}},
    {"gpu.clocks_max", {"max_clocks/sm", "max_clocks/sm_clock", "clocks.max.sm"}},
    {"gpu.persistence_mode", {"persistence_mode"}},
    {"gpu.mig_mode", {"mig_mode/current", "mig_mode/current_mig", "mig.mode.current"}},
    {"gpu.ecc_mode", {"ecc_mode/current", "ecc_mode/current_ecc", "ecc.mode.current"}},
    {"gpu.performance_state", {"performance_state", "pstate"}},
    {"gpu.remapped_rows_pending",
     {"remapped_rows/pending", "remapped_rows/remapped_row_pending", "remapped_rows.pending"}},
    {"gpu.remapped_rows_failure",
     {"remapped_rows/remapping_failure_occurred", "remapped_rows/remapped_row_failure",
      "remapped_rows.failure"}},
    {"gpu.remapped_rows_uncorrectable",
     {"remapped_rows/uncorrectable_error", "remapped_rows/remapped_row_unc",
      "remapped_rows.uncorrectable"}},
    {"gpu.retired_pages_pending",
     {"retired_pages/pending_page_blacklist", "retired_pages/pending_blacklist",
      "retired_pages/pending_retirement", "retired_pages.pending"}},
    {"gpu.recovery_action", {"gpu_recovery_action"}},
};
// NVML's bits of nvmlClocksEventReasons.
struct Reason {
  std::string_view name;
  uint32_t bit;
  bool slows;  // the hardware or driver holds the clock down because of heat or power supply
};
constexpr Reason kReasons[] = {{"idle", 0x1, false},
                               {"gpu_idle", 0x1, false},
                               {"applications_clocks_setting", 0x2, false},
                               {"sw_power_cap", 0x4, false},
                               {"sw_power_capping", 0x4, false},
                               {"hw_slowdown", 0x8, true},
                               {"sync_boost", 0x10, false},
                               {"sw_thermal_slowdown", 0x20, true},
                               {"hw_slowdown/hw_thermal_slowdown", 0x40, true},
                               {"hw_thermal_slowdown", 0x40, true},
                               {"hw_slowdown/hw_power_brake_slowdown", 0x80, true},
                               {"hw_slowdown/hw_power_braking", 0x80, true},
                               {"hw_power_brake_slowdown", 0x80, true},
                               {"display_clock_setting", 0x100, false},
                               {"display_clocks_setting", 0x100, false}};
constexpr std::string_view kReasonPrefixes[] = {"clocks_event_reasons/",
                                                "clocks_throttle_reasons/",
                                                "clocks_event_reasons/clocks_event_reason_",
                                                "clocks_throttle_reasons/clocks_throttle_reason_",
                                                "clocks_event_reasons.",
                                                "clocks_throttle_reasons."};

int sniff(const Sniff& s) {
  const std::string_view head = trim(s.head);
  if (contains(head.substr(0, 4096), "<nvidia_smi_log")) return 95;
  if (contains(s.head, "==NVSMI LOG==")) return 92;
  // A header of --query-gpu: names with dots and units.
  const std::string_view line = head.substr(0, head.find('\n'));
  if (!contains(line, ",")) return contains(s.head, "$ nvidia-smi") ? 80 : 0;
  int known = 0;
  for (const std::string_view field :
       {"utilization.gpu", "memory.used", "temperature.gpu", "power.draw", "pci.bus_id",
        "clocks.current.sm", "clocks.sm", "pcie.link.", "uuid", "driver_version", "pstate",
        "clocks_throttle_reasons", "clocks_event_reasons", "used_gpu_memory", "used_memory",
        "process_name", "gpu_name", "gpu_bus_id"})
    if (contains(line, field)) ++known;
  return known >= 2 ? 90 : contains(s.head, "$ nvidia-smi") ? 80 : 0;
}

// "Wed Sep 25 10:40:24 2024" and "2026/07/14 08:12:53.500". nvidia-smi names no zone; UTC is taken.
Ns time_of(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const auto words = split_blank(text);
  std::string iso;
  if (words.size() == 5 && words[1].size() == 3 &&
      kMonths.find(words[1]) != std::string_view::npos) {
    const size_t month = kMonths.find(words[1]) / 3 + 1;
    iso = std::string(words[4]) + (month < 10 ? "-0" : "-") + std::to_string(month) +
          (words[2].size() == 1 ? "-0" : "-") + std::string(words[2]) + "T" + std::string(words[3]);
  } else {
    iso = text;
    std::replace(iso.begin(), iso.end(), '/', '-');
  }
  return parse_iso8601_ns(iso).value_or(kNoTime);
}

class SmiReader final : public WholeReader {
 public:
  explicit SmiReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void document(std::string& text, bool, bool too_large) override {
    if (too_large) context_.count(kHealth[kTooLarge]);
    if (contains(std::string_view(text).substr(0, 4096), "<nvidia_smi_log")) {
      read_xml(text);
      return;
    }
    for (const auto line : split(text, '\n')) read_line(line);
    finish_gpu();
  }

 private:
  // ---- text and CSV, line by line ----
  void read_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("####") || line.starts_with("# $")) return end_section();
    if (contains(line, "==NVSMI LOG==")) {
      end_section();
      in_query_ = true;
      return;
    }
    if (in_query_) return read_query_line(line);
    read_csv_line(line);
  }

  void end_section() {
    finish_gpu();
    in_query_ = false;
    header_.clear();
    time_ = kNoTime;
    next_index_ = 0;
  }

  void read_query_line(std::string_view line) {
    const size_t indent = line.find_first_not_of(" \t");
    if (indent == std::string_view::npos) return;
    const size_t colon = line.find(" : ");
    const std::string_view key = trim(line.substr(0, colon)),
                           value =
                               colon == std::string_view::npos ? "" : trim(line.substr(colon + 3));
    if (indent == 0 && key.starts_with("GPU ")) {
      finish_gpu();
      gpu_ = Fields{{"bus_id", std::string(trim(key.substr(4)))}};
      path_.clear();
      return;
    }
    if (indent == 0) {
      if (key == "Timestamp") {  // a further record of `-l`
        finish_gpu();
        time_ = time_of(value);
        next_index_ = 0;
      }
      if (key == "Driver Version") host_setting("driver.version", value);
      if (key == "CUDA Version") host_setting("cuda.version", value);
      return;
    }
    if (!gpu_ || gpu_->size() > 10000) return;
    while (!path_.empty() && path_.back().first >= indent) path_.pop_back();
    std::string full;
    for (const auto& [at, name] : path_) full += name + "/";
    const std::string name = normalised(key);
    full += name;
    path_.emplace_back(indent, name);
    if (full.size() > 300) return;
    if (full.ends_with("process_id")) start_process(value);
    if (process_ != nullptr && full.starts_with("processes/")) {
      if (full.ends_with("/name")) process_->attributes.emplace_back("name", value);
      if (full.ends_with("/used_gpu_memory"))
        process_->attributes.emplace_back("gpu_memory", value);
      return;
    }
    if (colon != std::string_view::npos) gpu_->emplace(full, value);
  }

  void read_csv_line(std::string_view line) {
    const auto cells = split(line, ',');
    if (cells.size() < 2) {
      header_.clear();
      return;
    }
    if (header_.empty()) {
      std::vector<std::string> names;
      int known = 0;
      for (auto cell : cells) {
        cell = trim(cell);
        const std::string name = normalised(cell.substr(0, cell.find(" [")));
        for (const std::string_view k : {"timestamp", "name", "gpu_name", "uuid", "gpu_uuid",
                                         "index", "pid", "process_name", "pci.bus_id", "pstate"})
          if (name == k) ++known;
        for (const auto& item : kSamples)
          if (std::find(item.paths.begin(), item.paths.end(), name) != item.paths.end()) ++known;
        names.push_back(name);
      }
      if (known >= 2) header_ = std::move(names);
      return;
    }
    if (cells.size() < header_.size()) return context_.count(kHealth[kShortRow]);
    Fields row;
    for (size_t i = 0; i < header_.size(); ++i) row.emplace(header_[i], trim(cells[i]));
    if (const auto stamp = value_of(row, {"timestamp"}); !stamp.empty()) time_ = time_of(stamp);
    if (const auto v = value_of(row, {"driver_version"}); !v.empty())
      host_setting("driver.version", v);
    if (const auto h = value_of(row, {"hostname"}); !h.empty()) host_ = h;
    if (row.contains("pid")) return csv_process(row);
    gpu_ = std::move(row);
    finish_gpu();
  }

  // A row of --query-compute-apps. It names its GPU by UUID or bus, which only a query of the GPUs
  // themselves ties to a number.
  void csv_process(const Fields& row) {
    const auto uuid = value_of(row, {"gpu_uuid", "uuid"}),
               bus = value_of(row, {"gpu_bus_id", "pci.bus_id"});
    const auto known = index_of_uuid_.find(uuid);
    const std::string_view name = uuid.empty() ? bus : uuid;
    start_process(value_of(row, {"pid"}), known != index_of_uuid_.end() ? known->second
                                          : name.empty()                ? std::string()
                                                         : fmt::format("gpu/{}:{}", host(), name));
    if (process_ == nullptr) return;
    process_->attributes.emplace_back("name", value_of(row, {"process_name", "name"}));
    process_->attributes.emplace_back("gpu_memory",
                                      value_of(row, {"used_gpu_memory", "used_memory"}));
    process_ = nullptr;
  }

  void start_process(std::string_view pid, std::string gpu = {}) {
    process_ = nullptr;
    if (!parse_int(pid)) return;
    if (gpu.empty() && gpu_) gpu = entity();
    Evidence& out = context_.out;
    const std::string id = "process/" + host() + ":" + std::string(pid);
    out.entities.push_back({id, {}});
    if (!gpu.empty()) out.relations.push_back({id, "uses", gpu, context_.path, time_, kNoTime});
    process_ = &out.entities.back();
  }

  // ---- XML ----
  void read_xml(const std::string& text) {
    // `-l` writes one document behind the other.
    size_t at = text.find("<nvidia_smi_log");
    while (at != std::string::npos) {
      const size_t next = text.find("<nvidia_smi_log", at + 1);
      pugi::xml_document document;
      const auto result = document.load_buffer(text.data() + at, std::min(next, text.size()) - at,
                                               pugi::parse_default | pugi::parse_fragment);
      if (!result) context_.count(kHealth[kBadXml], 1, result.description());
      read_log(document.child("nvidia_smi_log"));
      at = next;
    }
  }

  void read_log(const pugi::xml_node& log) {
    time_ = time_of(log.child_value("timestamp"));
    next_index_ = 0;
    if (const std::string_view v = log.child_value("driver_version"); !v.empty())
      host_setting("driver.version", v);
    if (const std::string_view v = log.child_value("cuda_version"); !v.empty())
      host_setting("cuda.version", v);
    for (const auto& gpu : log.children("gpu")) {
      gpu_ = Fields{{"bus_id", gpu.attribute("id").value()}};
      collect(gpu, "", 0);
      for (const auto& p : gpu.child("processes").children("process_info")) {
        start_process(p.child_value("pid"));
        if (process_ == nullptr) continue;
        process_->attributes.emplace_back("name", p.child_value("process_name"));
        process_->attributes.emplace_back("gpu_memory", p.child_value("used_memory"));
      }
      finish_gpu();
    }
  }

  void collect(const pugi::xml_node& node, const std::string& prefix, int depth) {
    for (const auto& child : node.children()) {
      if (child.type() != pugi::node_element || depth > 8 || gpu_->size() > 10000) continue;
      const std::string name = child.name();
      if (name == "mig_devices" || name == "processes" || name == "supported_clocks") continue;
      gpu_->emplace(prefix + name, child.child_value());
      collect(child, prefix + name + "/", depth + 1);
    }
  }

  // ---- what one record of one GPU says ----
  std::string host() const {
    if (!host_.empty()) return host_;
    // nvidia-smi seldom names its host; the file's name keeps several hosts apart.
    const std::string_view file =
        std::string_view(context_.path).substr(context_.path.rfind('/') + 1);
    return std::string(file.substr(0, file.find('.', 1)));
  }
  std::string entity() const {
    const auto index = value_of(*gpu_, {"index"});
    return "gpu/" + host() + ":" +
           (parse_int(index) ? std::string(index) : std::to_string(next_index_));
  }

  void finish_gpu() {
    process_ = nullptr;
    if (!gpu_) return;
    if (time_ == kNoTime) time_ = file_time();
    const std::string id = entity();
    if (const auto uuid = value_of(*gpu_, {"gpu_uuid", "uuid"}); !uuid.empty())
      index_of_uuid_[std::string(uuid)] = id;
    for (const auto& item : kSettings) {
      std::string_view value = value_of(*gpu_, item.paths);
      if (value.empty()) continue;
      if (item.name.starts_with("pcie.") && value.ends_with("x")) value.remove_suffix(1);
      setting(id, item.name, value);
    }
    if (time_ == kNoTime) {
      context_.count(kHealth[kNoTimes]);
    } else {
      for (const auto& item : kSamples)
        sample(id, item.name, number_of(value_of(*gpu_, item.paths)));
      ecc(id);
      reasons(id);
    }
    gpu_.reset();
    path_.clear();
    ++next_index_;
  }

  double sum(std::initializer_list<std::string_view> paths) const {
    double total = kNaN;
    for (const auto path : paths) {
      const double n = number_of(value_of(*gpu_, {path}));
      if (std::isfinite(n)) total = (std::isfinite(total) ? total : 0) + n;
    }
    return total;
  }
  // Newer drivers count SRAM and DRAM apart, older ones single and double bit errors with a total.
  void ecc(const std::string& id) {
    const auto first = [](double a, double b, double c) {
      return std::isfinite(a) ? a : std::isfinite(b) ? b : c;
    };
    sample(id, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
           first(sum({"ecc.errors.corrected.volatile.total"}),
                 sum({"ecc_errors/volatile/single_bit/total"}),
                 sum({"ecc_errors/volatile/sram_correctable",
                      "ecc_errors/volatile/dram_correctable"})));
    sample(id, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
           first(sum({"ecc.errors.uncorrected.volatile.total"}),
                 sum({"ecc_errors/volatile/double_bit/total"}),
                 sum({"ecc_errors/volatile/sram_uncorrectable",
                      "ecc_errors/volatile/sram_uncorrectable_parity",
                      "ecc_errors/volatile/sram_uncorrectable_sec_ded",
                      "ecc_errors/volatile/sram_uncorrectable_secded",
                      "ecc_errors/volatile/dram_uncorrectable"})));
  }

  void reasons(const std::string& id) {
    const double mask = number_of(
        value_of(*gpu_, {"clocks_event_reasons.active", "clocks_throttle_reasons.active"}));
    uint32_t bits =
        std::isfinite(mask) && mask >= 0 && mask < 4294967296.0 ? static_cast<uint32_t>(mask) : 0;
    bool known = std::isfinite(mask);
    for (const auto& reason : kReasons)
      for (const auto prefix : kReasonPrefixes) {
        const auto v = value_of(*gpu_, {std::string(prefix) + std::string(reason.name)});
        if (v != "Active" && v != "Not Active") continue;
        known = true;
        if (v == "Active") bits |= reason.bit;
      }
    if (!known) return;
    sample(id, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", bits);
    uint32_t told = 0;
    for (const auto& reason : kReasons) {
      if ((bits & reason.bit) == 0 || !reason.slows || (told & reason.bit) != 0) continue;
      told |= reason.bit;
      const size_t slash = reason.name.rfind('/');
      Event event;
      event.kind = "throttle";
      event.entity = id;
      event.start = time_;
      event.attributes = {
          {"reason", std::string(slash == std::string_view::npos ? reason.name
                                                                 : reason.name.substr(slash + 1))}};
      event.source = context_.path;
      context_.out.events.push_back(std::move(event));
    }
  }

  Ns file_time() const {
    struct stat status {};
    if (::stat(context_.file.c_str(), &status) != 0 && ::stat(context_.path.c_str(), &status) != 0)
      return kNoTime;
    return Ns{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  }

  void setting(const std::string& id, std::string_view key, std::string_view value) {
    std::string& last = told_[id + '\n' + std::string(key)];
    if (last == value) return;  // a log repeats what did not change
    last = value;
    context_.out.settings.push_back(
        {id, std::string(key), std::string(value), context_.path, time_});
  }
  void host_setting(std::string_view key, std::string_view value) {
    setting("host/" + host(), key, value);
  }

  void sample(const std::string& id, std::string_view metric, double value) {
    if (!std::isfinite(value)) return;
    Evidence& out = context_.out;
    const auto [at, inserted] = series_.emplace(id + '\n' + std::string(metric), out.series.size());
    if (inserted) {
      Series series;
      series.metric = out.names.intern(metric);
      series.entity = out.names.intern(id);
      out.series.push_back(std::move(series));
    }
    out.series[at->second].time.push_back(time_);
    out.series[at->second].value.push_back(value);
  }

  ImportContext context_;
  bool in_query_ = false;
  Ns time_ = kNoTime;
  std::string host_;
  int next_index_ = 0;
  std::optional<Fields> gpu_;
  std::vector<std::pair<size_t, std::string>> path_;  // indent, name
  std::vector<std::string> header_;
  Entity* process_ = nullptr;  // the last of out.entities; valid until the next one is added
  std::map<std::string, std::string, std::less<>> index_of_uuid_;
  std::map<std::string, std::string> told_;
  std::map<std::string, size_t> series_;
};

}  // namespace

extern const Importer importer_nvidia_smi{
    .name = "nvidia_smi",
    .summary =
        "nvidia-smi output: clocks, throttling, temperature, power, ECC, PCIe link, processes",
    .formats =
        "nvidia-smi -q, -q -x, --query-gpu=… or --query-compute-apps=… --format=csv, captures of "
        "several",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<SmiReader>(std::move(c));
    }};

}  // namespace firstwait
