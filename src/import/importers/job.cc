// job.yaml of an evidence bundle: what the job is and where its ranks run.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/text.h"
#include "import/importer.h"
#include "import/yaml_fields.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"bad_yaml", Severity::data_loss,
     "the file is not YAML as the format has it; correct it at the place named"},
    {"bad_rank", Severity::error, "every entry of ranks needs a rank of 0 or more"},
    {"too_large", Severity::data_loss,
     "the file is larger than 64 MiB; a job.yaml holds a few lines per rank"},
    {"jobs_disagree", Severity::error,
     "another input says otherwise, and this file's word was taken; keep the job.yaml that is "
     "right"}};

bool has(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

int sniff(const Sniff& s) {
  const auto keys = top_level_yaml_keys(s.head);
  int score = 0;
  if (has(keys, "job")) score += 40;
  for (const std::string_view key : {"world_size", "ranks", "parallel"})
    if (has(keys, key)) score += 30;
  for (const std::string_view key : {"framework", "owner", "project", "name"})
    if (has(keys, key)) score += 10;
  return score >= 50 ? std::min(score, 90) : 0;
}

class JobReader final : public WholeReader {
 public:
  explicit JobReader(ImportContext context)
      : WholeReader(size_t{64} << 20), context_(std::move(context)) {}

 protected:
  void document(std::string& text, bool, bool too_large) override {
    if (too_large) return context_.count(kHealth[2]);
    const std::string wrong = with_yaml(
        text, [](const YAML::Node& root, void* self) { static_cast<JobReader*>(self)->read(root); },
        this);
    if (!wrong.empty()) context_.count(kHealth[0], 1, wrong);
  }

 private:
  void read(const YAML::Node& root) {
    if (!root.IsMap()) return context_.count(kHealth[0], 1, "not a mapping");
    JobInfo& job = context_.out.job;
    const auto text = [&](const char* key, std::string& to) {
      std::string value = yaml_text(root, key);
      if (value.empty()) return;
      if (!to.empty() && to != value) disagrees(key, value, to);
      to = std::move(value);
    };
    const auto number = [&](const YAML::Node& map, const char* key, int& to) {
      const int value = yaml_index(map, key, to);
      if (to >= 0 && to != value) disagrees(key, std::to_string(value), std::to_string(to));
      to = value;
    };
    text("job", job.id);
    if (job.id.empty()) text("name", job.id);
    text("project", job.project);
    text("owner", job.owner);
    text("framework", job.framework);
    number(root, "world_size", job.world_size);
    if (const YAML::Node parallel = root["parallel"]; parallel && parallel.IsMap()) {
      number(parallel, "dp", job.dp);
      number(parallel, "tp", job.tp);
      number(parallel, "pp", job.pp);
      number(parallel, "cp", job.cp);
      number(parallel, "ep", job.ep);
      number(parallel, "vpp", job.vpp);
    }
    if (const YAML::Node ranks = root["ranks"]; ranks && ranks.IsSequence())
      for (const auto& entry : ranks) read_rank(entry);
    job_relations(root);
  }

  void disagrees(std::string_view what, std::string_view now, std::string_view before) {
    context_.count(kHealth[3], 1, fmt::format("{}: {}, before {}", what, now, before));
  }

  void read_rank(const YAML::Node& entry) {
    const int number = yaml_index(entry, "rank");
    if (number < 0) return context_.count(kHealth[1]);
    Evidence& out = context_.out;
    RankInfo& rank = out.rank(number);
    if (auto host = yaml_text(entry, "host"); !host.empty()) {
      if (!rank.host.empty() && rank.host != host)
        disagrees(fmt::format("host of rank {}", number), host, rank.host);
      rank.host = std::move(host);
    }
    if (const auto gpu = yaml_text(entry, "gpu"); !gpu.empty())
      rank.gpu = contains(gpu, ":") ? gpu : rank.host + ":" + gpu;
    rank.local_rank = yaml_index(entry, "local_rank", rank.local_rank);
    rank.stage = yaml_index(entry, "stage", rank.stage);
    rank.dp_rank = yaml_index(entry, "dp_rank", rank.dp_rank);
    if (rank.source.empty()) rank.source = context_.path;
    const std::string id = "rank/" + std::to_string(number);
    const auto relate = [&](const char* kind, std::string to) {
      out.relations.push_back({id, kind, std::move(to), context_.path, kNoTime, kNoTime});
    };
    if (!rank.host.empty()) relate("runs_on", "host/" + rank.host);
    if (!rank.gpu.empty()) relate("uses", "gpu/" + rank.gpu);
  }

  void job_relations(const YAML::Node& root) {
    Evidence& out = context_.out;
    if (out.job.id.empty()) return;
    Entity entity{"job/" + out.job.id, {}};
    for (const char* key : {"name", "framework", "workload_kind"})
      if (auto value = yaml_text(root, key); !value.empty())
        entity.attributes.emplace_back(key, std::move(value));
    out.entities.push_back(std::move(entity));
    const auto relate = [&](const char* kind, const std::string& to) {
      if (!to.empty())
        out.relations.push_back(
            {"job/" + out.job.id, "member_of", kind + to, context_.path, kNoTime, kNoTime});
    };
    relate("project/", out.job.project);
    if (!out.job.owner.empty())
      out.relations.push_back({"job/" + out.job.id, "owned_by", "owner/" + out.job.owner,
                               context_.path, kNoTime, kNoTime});
  }

  ImportContext context_;
};

}  // namespace

extern const Importer importer_job{
    .name = "job",
    .summary = "the job of an evidence bundle: names, owner, parallel layout, where its ranks run",
    .formats = "job.yaml",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<JobReader>(std::move(c));
    }};

}  // namespace firstwait
