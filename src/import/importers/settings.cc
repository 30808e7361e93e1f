// settings.jsonl of an evidence bundle: start-up facts.
#include "import/json_rows.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    kBadJsonLine,
    kJsonLineTooLong,
    {"incomplete_setting", Severity::data_loss, "give every setting an entity, a key and a value"},
    kJsonArray};
enum : size_t { kIncomplete = 2 };

int sniff(const Sniff& s) {
  const auto keys = top_level_keys(s.head);
  return has_key(keys, "entity") && has_key(keys, "key") && has_key(keys, "value") ? 90 : 0;
}

class SettingsReader final : public JsonRows {
 public:
  using JsonRows::JsonRows;

 private:
  void begin_row() override {
    setting_ = {};
    has_value_ = false;
  }
  void field(std::string_view key, JsonValue value) override {
    if (key == "entity") setting_.entity = json_string(value).value_or("");
    if (key == "key") setting_.key = json_string(value).value_or("");
    if (key == "source") setting_.source = json_string(value).value_or("");
    if (key == "time") setting_.time = json_time(value);
    if (key == "value") {
      has_value_ = !json_null(value);
      setting_.value = json_text(value);
    }
  }
  void end_row() override {
    if (setting_.entity.empty() || setting_.key.empty() || !has_value_)
      return count(kHealth[kIncomplete]);
    if (setting_.source.empty()) setting_.source = context_.path;
    context_.out.settings.push_back(std::move(setting_));
  }

  Setting setting_;
  bool has_value_ = false;
};

}  // namespace

extern const Importer importer_settings{
    .name = "settings",
    .summary = "settings of an evidence bundle: start-up facts of hosts, jobs and ranks",
    .formats = "settings.jsonl",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<SettingsReader>(std::move(c));
    }};

}  // namespace firstwait
