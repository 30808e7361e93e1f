// job.yaml of an evidence bundle (FORMATS section 1): what the job is and where its ranks run.
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
     "the file is larger than 64 MiB; a job.yaml holds a few lines per rank"}};

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
      if (!value.empty()) to = std::move(value);
    };
    text("job", job.id);
    if (job.id.empty()) text("name", job.id);
    text("project", job.project);
    text("owner", job.owner);
    text("framework", job.framework);
    job.world_size = yaml_index(root, "world_size", job.world_size);
    if (const YAML::Node parallel = root["parallel"]; parallel && parallel.IsMap()) {
      job.dp = yaml_index(parallel, "dp", job.dp);
      job.tp = yaml_index(parallel, "tp", job.tp);
      job.pp = yaml_index(parallel, "pp", job.pp);
      job.cp = yaml_index(parallel, "cp", job.cp);
      job.ep = yaml_index(parallel, "ep", job.ep);
      job.vpp = yaml_index(parallel, "vpp", job.vpp);
    }
    if (const YAML::Node ranks = root["ranks"]; ranks && ranks.IsSequence())
      for (const auto& entry : ranks) read_rank(entry);
    job_relations(root);
  }

  void read_rank(const YAML::Node& entry) {
    const int number = yaml_index(entry, "rank");
    if (number < 0) return context_.count(kHealth[1]);
    Evidence& out = context_.out;
    RankInfo& rank = out.rank(number);
    if (auto host = yaml_text(entry, "host"); !host.empty()) rank.host = std::move(host);
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
