// The meta file that lies beside published op traces (meta-*.yaml): the job's parallel sizes.
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/text.h"
#include "import/importer.h"

namespace firstwait {
namespace {

constexpr HealthCounter kBadSize{"bad_size", Severity::error,
                                 "sizes are whole numbers from 1 to a million"};
constexpr HealthCounter kUnknownKey{"unknown_key", Severity::info,
                                    "this key is not used; the rest was read"};
constexpr HealthCounter kHealth[] = {kBadSize, kUnknownKey};

// Flat "key: value" lines with at least two of the sizes; anything nested is another importer's.
int sniff(const Sniff& s) {
  if (!contains(s.head, "pp_size:") || !contains(s.head, "dp_size:")) return 0;
  for (const auto line : split(s.head.substr(0, 4096), '\n'))
    if (line.starts_with("pp_size:") || line.starts_with("dp_size:")) return 80;
  return 0;
}

class MetaReader final : public LineReader {
 public:
  explicit MetaReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void line(std::string_view text, uint64_t number) override {
    const size_t colon = text.find(':');
    if (trim(text).empty() || text.front() == '#' || colon == std::string_view::npos) return;
    const std::string_view key = trim(text.substr(0, colon)), value = trim(text.substr(colon + 1));
    JobInfo& job = context_.out.job;
    if (key == "trial_name") {
      if (job.id.empty()) job.id = value;
      return;
    }
    if (key == "run_id" || key == "dsp_size") return;
    const std::array<std::pair<std::string_view, int32_t*>, 7> sizes = {
        {{"dp_size", &job.dp},
         {"pp_size", &job.pp},
         {"tp_size", &job.tp},
         {"cp_size", &job.cp},
         {"ep_size", &job.ep},
         {"vpp_size", &job.vpp},
         {"world_size", &job.world_size}}};
    for (const auto& [name, to] : sizes) {
      if (key != name) continue;
      const auto size = parse_int(value);
      if (!size || *size < 1 || *size > 1'000'000)
        return context_.count(kHealth[0], 1, fmt::format("line {}", number));
      *to = static_cast<int32_t>(*size);
      return;
    }
    context_.count(kHealth[1], 1, key.substr(0, 60));
  }
  void end(bool) override {}
  void too_long(uint64_t number) override {
    context_.count(kHealth[1], 1, fmt::format("line {}", number));
  }

 private:
  ImportContext context_;
};

}  // namespace

extern const Importer importer_job_meta{.name = "job_meta",
                                        .summary = "parallel sizes beside published op traces",
                                        .formats = "meta-*.yaml",
                                        .health = kHealth,
                                        .sniff = sniff,
                                        .open = [](ImportContext c) -> std::unique_ptr<Reader> {
                                          return std::make_unique<MetaReader>(std::move(c));
                                        }};

}  // namespace firstwait
