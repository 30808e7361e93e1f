// Where pages were taken from, by NUMA node: numastat.
#include "collect/sys_values.h"

namespace firstwait {
namespace {

constexpr Metric kMetrics[] = {
    {"node_memory_numa_*_total", MetricKind::counter, "Memory information field *_total."}};

struct Node {
  std::string number;
  File file;
  ByPosition<SeriesId> fields;
};

class Numa final : public Sampling {
 public:
  explicit Numa(const World& world) : dir_(world.root.sys + "/devices/system/node") {}

  Presence sample(Out& out) override {
    if (nodes_.empty())
      for (const std::string& name : list_directory(dir_, 4096))
        if (int64_t number = 0; name.starts_with("node") && whole_number(name.substr(4), number))
          nodes_.push_back({name.substr(4), File(dir_ + "/" + name + "/numastat", true), {}});
    bool any = false;
    for (Node& node : nodes_) {
      const auto text = out.read(node.file);
      if (!text) continue;
      node.fields.begin();
      Scan lines(*text);
      std::string_view line;
      while (lines.line(line)) {
        Scan scan(line);
        const std::string_view name = scan.word();
        int64_t value = 0;
        if (name.empty() || !scan.number(value)) continue;
        if (SeriesId* id = node.fields.get(name, [&](std::string_view n) {
              return out.series(kMetrics[0], {{"node", node.number}}, n);
            }))
          out.put(*id, value);
        any = true;
      }
    }
    return any ? Presence::present : Presence::absent;
  }

 private:
  std::string dir_;
  std::vector<Node> nodes_;
};

}  // namespace

extern const Collector collector_numa{
    .name = "numa",
    .what = "from which NUMA node memory was taken",
    .metrics = kMetrics,
    .reads = "/sys/devices/system/node/node*/numastat",
    .needs = "a kernel with CONFIG_NUMA",
    .period = 10'000'000'000,
    .make = [](const World& w) -> std::unique_ptr<Sampling> { return std::make_unique<Numa>(w); }};

}  // namespace firstwait
