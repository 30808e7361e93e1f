// Outputs of DLIO and MLPerf Storage: summary.json, per_epoch_stats.json, N_output.json,
// iostat.json, config.yaml.
#include <fmt/format.h>
#include <simdjson.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "import/importer.h"
#include "import/logs/dlio_epochs.h"
#include "import/yaml_fields.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"bad_document", Severity::data_loss,
     "the file is no whole JSON or YAML document; copy it again"},
    {"too_large", Severity::data_loss, "the file is larger than 256 MiB; it was not read"},
    {"bad_epoch", Severity::data_loss,
     "an epoch has no start and end; the run may have been cut short"},
    {"uneven_steps", Severity::data_loss,
     "loading and processing times of a block differ in number; the shorter counts"},
    {"bad_duration", Severity::data_loss,
     "a duration is no number or out of range; the step was left out"},
    {"rank_unknown", Severity::error,
     "the rank stands only in the name N_output.json; keep the name"},
    {"bad_sample", Severity::data_loss,
     "an iostat record has no readable time; set S_TIME_FORMAT=ISO"},
};
enum Counter : size_t {
  bad_document,
  oversized,
  bad_epoch,
  uneven,
  bad_duration,
  rank_unknown,
  bad_sample
};

constexpr double kMaxSeconds = 1e7;  // 115 days
constexpr Ns kMaxEpoch = int64_t{1} << 53;

enum class Kind : uint8_t { none, summary, epochs, output, iostat, config };

// Told from keys: a compact test that works on a head that is cut.
Kind kind_of(std::string_view head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return Kind::none;
  if (head[first] != '{') {
    const bool dlio = contains(head, "workload:") && contains(head, "reader:") &&
                      contains(head, "dataset:") &&
                      (contains(head, "data_loader:") || contains(head, "num_files_train:"));
    return dlio ? Kind::config : Kind::none;
  }
  if (contains(head, "\"sysstat\"") && contains(head, "\"hosts\"")) return Kind::iostat;
  if (contains(head, "\"metric\"") && contains(head, "\"train_au_percentage\""))
    return Kind::summary;
  if (contains(head, "\"block1\"") && contains(head, "\"load\"")) return Kind::output;
  if (contains(head, "\"host_meminfo\"") && contains(head, "\"potential_caching\""))
    return Kind::output;
  if (contains(head, "\"block1\"") && contains(head, "\"start\"") && contains(head, "\"duration\""))
    return Kind::epochs;
  if (contains(head, "\"num_accelerators\"") && contains(head, "\"hostname\""))
    return Kind::summary;
  return Kind::none;
}

int sniff(const Sniff& s) {
  const Kind kind = kind_of(s.head);
  return kind == Kind::none ? 0 : kind == Kind::config ? 60 : 80;
}

using Element = simdjson::dom::element;
using Field = simdjson::simdjson_result<Element>;

double number(Field field) {
  double value = 0;
  return field.get(value) == simdjson::SUCCESS ? value : kNaN;
}
std::string_view text(Field field) {
  std::string_view value;
  return field.get(value) == simdjson::SUCCESS ? value : std::string_view{};
}
// What is no number becomes NaN; nothing when it is no list.
std::optional<std::vector<double>> numbers(Field field) {
  simdjson::dom::array list;
  if (field.get(list)) return std::nullopt;
  std::vector<double> out;
  for (const Element e : list) {
    double value = kNaN;
    if (e.get(value)) value = kNaN;
    out.push_back(value);
  }
  return out;
}
Ns nanoseconds(double seconds) {
  return seconds >= 0 && seconds <= kMaxSeconds ? static_cast<Ns>(std::llround(seconds * 1e9))
                                                : kNoDuration;
}
Ns time_of(Field field) { return parse_iso8601_ns(text(field)).value_or(kNoTime); }

// "04/04/23 16:33:43" of sysstat's default format (month first), or ISO 8601.
Ns iostat_time(std::string_view stamp) {
  if (const auto iso = parse_iso8601_ns(stamp)) return *iso;
  if (stamp.size() < 17 || stamp[2] != '/' || stamp[5] != '/') return kNoTime;
  const bool long_year = stamp.size() >= 19 && stamp[10] == ' ';
  const std::string year =
      long_year ? std::string(stamp.substr(6, 4)) : "20" + std::string(stamp.substr(6, 2));
  const std::string iso = fmt::format("{}-{}-{}T{}", year, stamp.substr(0, 2), stamp.substr(3, 2),
                                      stamp.substr(long_year ? 11 : 9, 8));
  return parse_iso8601_ns(iso).value_or(kNoTime);
}

class DlioReader final : public WholeReader {
 public:
  explicit DlioReader(ImportContext context)
      : context_(std::move(context)), run_(dlio_run(context_.path)) {}

 protected:
  void document(std::string& document, bool, bool too_large) override {
    if (too_large) return context_.count(kHealth[oversized]);
    const Kind kind = kind_of(document);
    if (kind == Kind::config) return config(document);
    simdjson::dom::parser parser;
    Element root;
    if (parser.parse(document.data(), document.size(), false).get(root) || !root.is_object())
      return context_.count(kHealth[bad_document]);
    if (kind == Kind::iostat)
      iostat(root);
    else if (kind == Kind::summary)
      summary(root);
    else if (kind == Kind::epochs)
      epochs(root);
    else if (kind == Kind::output)
      output(root);
    else
      context_.count(kHealth[bad_document]);
  }

 private:
  std::string job() const { return "job/" + run_; }
  void setting(std::string entity, std::string key, std::string value) {
    if (!value.empty())
      context_.out.settings.push_back(
          {std::move(entity), std::move(key), std::move(value), context_.path, kNoTime});
  }
  Event& epoch_event(int64_t epoch) {
    Event e;
    e.kind = "epoch";
    e.entity = job();
    e.source = context_.path;
    e.attributes = {{"tool", "dlio"}, {"epoch", std::to_string(epoch)}};
    context_.out.events.push_back(std::move(e));
    return context_.out.events.back();
  }

  void summary(Element root) {
    const auto utilisation =
        numbers(root["metric"]["train_au_percentage"]).value_or(std::vector<double>{});
    const auto throughput = numbers(root["metric"]["train_throughput_samples_per_second"])
                                .value_or(std::vector<double>{});
    const size_t count = std::max(utilisation.size(), throughput.size());
    for (size_t i = 0; i < count; ++i) {
      Event& e = epoch_event(static_cast<int64_t>(i) + 1);
      if (i < utilisation.size() && utilisation[i] >= 0)
        e.attributes.emplace_back("au", fmt::format("{}", utilisation[i]));
      if (i < throughput.size() && throughput[i] >= 0)
        e.attributes.emplace_back("samples_per_second", fmt::format("{}", throughput[i]));
    }
    const auto whole = [&](const char* key) {
      const double value = number(root[key]);
      return value >= 0 && value < 1e15 ? fmt::format("{:.0f}", value) : std::string();
    };
    setting(job(), "world_size", whole("num_accelerators"));
    setting(job(), "job.hosts", whole("num_hosts"));
    setting(job(), "dataset.files", whole("num_files_train"));
    context_.note(fmt::format("{} epochs: utilisation and throughput", count));
  }

  void epochs(Element root) {
    size_t count = 0;
    for (const auto field : simdjson::dom::object(root)) {
      const auto epoch = parse_int(field.key);
      if (!epoch || !field.value.is_object()) continue;
      const Ns start = time_of(field.value["start"]), end = time_of(field.value["end"]);
      if (start == kNoTime || end == kNoTime || end < start || end - start > kMaxEpoch) {
        context_.count(kHealth[bad_epoch], 1, fmt::format("epoch {}", *epoch));
        continue;
      }
      Ns block = 0, saving = 0;
      for (const auto part : simdjson::dom::object(field.value)) {
        if (!part.value.is_object()) continue;
        const Ns from = time_of(part.value["start"]), to = time_of(part.value["end"]);
        if (from == kNoTime || to == kNoTime || from < start || to < from || to > end) continue;
        const bool checkpoint = part.key.substr(0, 4) == "ckpt";
        const bool evaluation = part.key.substr(0, 4) == "eval";
        if (part.key.substr(0, 5) == "block") block = std::min(block + (to - from), kMaxEpoch);
        if (checkpoint) saving = std::min(saving + (to - from), kMaxEpoch);
        if (!checkpoint && !evaluation) continue;
        Event e;
        e.kind = checkpoint ? "checkpoint" : "evaluation";
        e.entity = job();
        e.start = from;
        e.end = to;
        e.source = context_.path;
        e.attributes = {{"epoch", std::string(field.key)}};
        context_.out.events.push_back(std::move(e));
      }
      Event& e = epoch_event(*epoch);
      e.start = start;
      e.end = end;
      e.attributes.emplace_back("block_s", fmt::format("{:.9f}", static_cast<double>(block) / 1e9));
      e.attributes.emplace_back("checkpoint_s",
                                fmt::format("{:.9f}", static_cast<double>(saving) / 1e9));
      ++count;
    }
    context_.note(fmt::format("{} epochs: times", count));
  }

  // The rank stands nowhere but in the name.
  int32_t rank() {
    std::string_view name = context_.path;
    name.remove_prefix(std::min(name.find_last_of("/:") + 1, name.size()));
    const auto digits = name.substr(0, name.find('_'));
    const auto value = parse_int(digits);
    if (value && *value >= 0 && *value < (1 << 24)) return static_cast<int32_t>(*value);
    context_.count(kHealth[rank_unknown]);
    int32_t free = 0;
    while (context_.out.ranks.contains(free)) ++free;
    return free;
  }

  void output(Element root) {
    const int32_t r = rank();
    const NameId name = context_.out.names.intern(run_);
    std::map<int64_t, Element> epochs;
    for (const auto field : simdjson::dom::object(root))
      if (const auto epoch = parse_int(field.key); epoch && field.value.is_object())
        epochs.emplace(*epoch, field.value);
    int64_t step = 0;
    for (const auto& [epoch, element] : epochs) {
      simdjson::dom::object blocks;
      if (element["load"].get(blocks)) continue;
      bool first = true;
      for (const auto block : blocks) {
        this->block(name, r, epoch, step, first, Field(Element(block.value)),
                    element["proc"][block.key], element["compute"][block.key]);
        first = false;
      }
    }
    auto& info = context_.out.rank(r);
    const auto host = text(root["hostname"]);
    if (info.host.empty()) info.host = host;
    info.source = context_.path;
    if (!host.empty()) {
      const double cores = number(root["host_cpu_count"]);
      if (cores > 0 && cores < 1e6)
        setting(fmt::format("host/{}", host), "cpu.count", fmt::format("{:.0f}", cores));
    }
    context_.note(fmt::format("rank {}: {} steps of {} epochs", r, step, epochs.size()));
  }

  // A step is processed from one batch's arrival to the next: `proc` contains `load`, and the
  // emulated compute.
  void block(NameId name, int32_t r, int64_t epoch, int64_t& step, bool first, Field load_field,
             Field proc_field, Field compute_field) {
    const auto load = numbers(load_field), proc = numbers(proc_field),
               compute = numbers(compute_field);
    if (!load || !proc)
      return context_.count(kHealth[bad_document], 1, fmt::format("epoch {}", epoch));
    if (load->size() != proc->size())
      context_.count(kHealth[uneven], 1, fmt::format("epoch {}", epoch));
    auto& steps = context_.out.steps;
    const size_t count = std::min(load->size(), proc->size());
    for (size_t i = 0; i < count && step < INT32_MAX; ++i) {
      const Ns waited = nanoseconds((*load)[i]), duration = nanoseconds((*proc)[i]);
      ++step;
      if (waited == kNoDuration || duration == kNoDuration || duration == 0) {
        context_.count(kHealth[bad_duration], 1, fmt::format("epoch {} step {}", epoch, i + 1));
        continue;
      }
      const size_t row = steps.append(name, r, static_cast<int32_t>(step), kNoTime, duration);
      steps.epoch[row] = static_cast<int32_t>(std::clamp<int64_t>(epoch, -1, INT32_MAX));
      if (first && i == 0)
        steps.kind[row] = StepKind::warmup;  // DLIO leaves it out of its utilisation too
      const Ns wait = std::min(waited, duration);
      steps.set_phase(row, Phase::input_wait, wait);
      const Ns known = compute && i < compute->size() ? nanoseconds((*compute)[i]) : kNoDuration;
      steps.set_phase(row, Phase::forward,
                      known == kNoDuration ? duration - wait : std::min(known, duration - wait));
    }
  }

  void gauge(const std::string& metric, const std::string& entity, std::string_view label,
             std::string_view label_value, Ns time, double value) {
    if (std::isnan(value)) return;
    auto& out = context_.out;
    const std::string key = fmt::format("{}|{}|{}", metric, entity, label_value);
    auto at = series_.find(key);
    if (at == series_.end()) {
      Series s;
      s.metric = out.names.intern(metric);
      s.entity = out.names.intern(entity);
      s.labels.emplace_back(out.names.intern(label), out.names.intern(label_value));
      at = series_.emplace(key, out.series.size()).first;
      out.series.push_back(std::move(s));
    }
    out.series[at->second].time.push_back(time);
    out.series[at->second].value.push_back(value);
  }

  // iostat prints rates and means over its interval, so these are gauges of names of their own,
  // never node_disk_*.
  void iostat(Element root) {
    simdjson::dom::array hosts;
    if (root["sysstat"]["hosts"].get(hosts)) return context_.count(kHealth[bad_document]);
    for (const Element host : hosts) {
      const std::string entity = "host/" + std::string(text(host["nodename"]));
      simdjson::dom::array statistics;
      if (host["statistics"].get(statistics)) continue;
      for (const Element s : statistics) {
        const Ns time = iostat_time(text(s["timestamp"]));
        if (time == kNoTime) {
          context_.count(kHealth[bad_sample]);
          continue;
        }
        for (const char* mode : {"user", "nice", "system", "iowait", "steal", "idle"})
          gauge("firstwait_iostat_cpu_ratio", entity, "mode", mode, time,
                number(s["avg-cpu"][mode]) / 100);
        simdjson::dom::array disks;
        if (s["disk"].get(disks)) continue;
        for (const Element disk : disks) this->disk(entity, disk, time);
      }
    }
    context_.note(fmt::format("{} series of rates", series_.size()));
  }

  void disk(const std::string& entity, Element disk, Ns time) {
    const std::string device(text(disk["disk_device"]));
    struct Column {
      const char* field;
      const char* metric;
      double scale;
    };
    constexpr Column kColumns[] = {{"r/s", "firstwait_iostat_reads_per_second", 1},
                                   {"w/s", "firstwait_iostat_writes_per_second", 1},
                                   {"rMB/s", "firstwait_iostat_read_bytes_per_second", 1048576},
                                   {"wMB/s", "firstwait_iostat_written_bytes_per_second", 1048576},
                                   {"rkB/s", "firstwait_iostat_read_bytes_per_second", 1024},
                                   {"wkB/s", "firstwait_iostat_written_bytes_per_second", 1024},
                                   {"r_await", "firstwait_iostat_read_wait_seconds", 0.001},
                                   {"w_await", "firstwait_iostat_write_wait_seconds", 0.001},
                                   {"aqu-sz", "firstwait_iostat_queue_length", 1},
                                   {"util", "firstwait_iostat_busy_ratio", 0.01}};
    for (const auto& c : kColumns)
      gauge(c.metric, entity, "device", device, time, number(disk[c.field]) * c.scale);
  }

  void config(const std::string& document) {
    const std::string wrong = with_yaml(
        document,
        [](const YAML::Node& root, void* state) {
          static_cast<DlioReader*>(state)->workload(root["workload"]);
        },
        this);
    if (!wrong.empty()) context_.count(kHealth[bad_document], 1, wrong);
  }

  void workload(const YAML::Node& w) {
    if (!w || !w.IsMap()) return context_.count(kHealth[bad_document]);
    const auto value = [&](const char* section, const char* key) {
      const YAML::Node s = w[section];
      return s && s.IsMap() ? yaml_text(s, key) : std::string();
    };
    setting(job(), "loader.num_workers", value("reader", "read_threads"));
    setting(job(), "loader.batch_size", value("reader", "batch_size"));
    setting(job(), "loader.prefetch_factor", value("reader", "prefetch_size"));
    setting(job(), "loader.kind", value("reader", "data_loader"));
    setting(job(), "dataset.shuffle", value("reader", "file_shuffle"));
    setting(job(), "dataset.path", value("dataset", "data_folder"));
    setting(job(), "dataset.format", value("dataset", "format"));
    setting(job(), "dataset.files", value("dataset", "num_files_train"));
    setting(job(), "dataset.samples_per_file", value("dataset", "num_samples_per_file"));
    setting(job(), "dataset.record_bytes", value("dataset", "record_length"));
    setting(job(), "dlio.computation_seconds", value("train", "computation_time"));
    setting(job(), "dlio.model", yaml_text(w, "model"));
    setting(job(), "job.framework", yaml_text(w, "framework"));
    context_.note("configuration of the run");
  }

  ImportContext context_;
  std::string run_;
  std::map<std::string, size_t> series_;
};

}  // namespace

extern const Importer importer_dlio{
    .name = "dlio",
    .summary = "outputs of DLIO and MLPerf Storage: loading and computing per step or epoch",
    .formats = "summary.json, per_epoch_stats.json, N_output.json, iostat.json, config.yaml",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<DlioReader>(std::move(c));
    }};

}  // namespace firstwait
