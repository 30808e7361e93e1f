// inventory.yaml of an evidence bundle: entities and how they are related.
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/text.h"
#include "import/importer.h"
#include "import/json_fields.h"
#include "import/yaml_fields.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"bad_yaml", Severity::data_loss,
     "the file is not YAML as the format has it; correct it at the place named"},
    {"bad_entity", Severity::error, "every entity needs a kind and an id"},
    {"bad_relation", Severity::error,
     "every relation needs from, kind and to, with entities written kind/id"},
    {"bad_time", Severity::error,
     "write valid_from and valid_to as seconds since the epoch or ISO 8601"},
    {"too_large", Severity::data_loss, "the file is larger than 256 MiB; split the inventory"}};

int sniff(const Sniff& s) {
  const auto keys = top_level_yaml_keys(s.head);
  const auto has = [&](std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  return has("entities") || has("relations") ? 85 : 0;
}

class InventoryReader final : public WholeReader {
 public:
  explicit InventoryReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void document(std::string& text, bool, bool too_large) override {
    if (too_large) return context_.count(kHealth[4]);
    const std::string wrong = with_yaml(
        text,
        [](const YAML::Node& root, void* self) { static_cast<InventoryReader*>(self)->read(root); },
        this);
    if (!wrong.empty()) context_.count(kHealth[0], 1, wrong);
  }

 private:
  void read(const YAML::Node& root) {
    if (!root.IsMap()) return context_.count(kHealth[0], 1, "not a mapping");
    if (const YAML::Node entities = root["entities"]; entities && entities.IsSequence())
      for (const auto& node : entities) read_entity(node);
    if (const YAML::Node relations = root["relations"]; relations && relations.IsSequence())
      for (const auto& node : relations) read_relation(node);
  }

  void read_entity(const YAML::Node& node) {
    const std::string kind = yaml_text(node, "kind"), id = yaml_text(node, "id");
    if (id.empty() || (kind.empty() && !contains(id, "/"))) return context_.count(kHealth[1]);
    // "kind/id" in the id itself is taken as it is.
    Entity entity{kind.empty() || id.starts_with(kind + "/") ? id : kind + "/" + id, {}};
    if (const YAML::Node attributes = node["attributes"]; attributes && attributes.IsMap())
      for (const auto& pair : attributes)
        if (pair.first.IsScalar() && pair.second.IsScalar())
          entity.attributes.emplace_back(pair.first.Scalar(), pair.second.Scalar());
    context_.out.entities.push_back(std::move(entity));
  }

  void read_relation(const YAML::Node& node) {
    Relation r{yaml_text(node, "from"),
               yaml_text(node, "kind"),
               yaml_text(node, "to"),
               context_.path,
               kNoTime,
               kNoTime};
    if (r.kind.empty() || !contains(r.from, "/") || !contains(r.to, "/"))
      return context_.count(kHealth[2]);
    r.valid_from = time(node, "valid_from");
    r.valid_to = time(node, "valid_to");
    if (auto source = yaml_text(node, "source"); !source.empty()) r.source = std::move(source);
    context_.out.relations.push_back(std::move(r));
  }

  Ns time(const YAML::Node& node, const char* key) {
    const std::string text = yaml_text(node, key);
    if (text.empty() || text == "null" || text == "~") return kNoTime;
    auto ns = parse_time_ns(text);
    if (!ns) ns = parse_iso8601_ns(text);
    if (ns && *ns <= kMaxTime && *ns >= -kMaxTime) return *ns;
    context_.count(kHealth[3], 1, text.substr(0, 60));
    return kNoTime;
  }

  ImportContext context_;
};

}  // namespace

extern const Importer importer_inventory{
    .name = "inventory",
    .summary =
        "the inventory of an evidence bundle: hosts, switches, mounts, owners and their relations",
    .formats = "inventory.yaml",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<InventoryReader>(std::move(c));
    }};

}  // namespace firstwait
