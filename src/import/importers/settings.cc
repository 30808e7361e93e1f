// settings.jsonl of an evidence bundle (FORMATS section 1): start-up facts.
#include "base/text.h"
#include "import/importer.h"
#include "import/json_fields.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"bad_line", Severity::data_loss, "the line is not a JSON object; write it again"},
    {"incomplete_setting", Severity::data_loss, "give every setting an entity, a key and a value"},
    {"line_too_long", Severity::data_loss, "split the line: 16 MiB is the limit"}};

int sniff(const Sniff& s) {
  const auto keys = top_level_keys(s.head);
  return has_key(keys, "entity") && has_key(keys, "key") && has_key(keys, "value") ? 90 : 0;
}

class SettingsReader final : public LineReader {
 public:
  explicit SettingsReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void line(std::string_view text, uint64_t number) override {
    if (trim(text).empty()) return;
    const std::string place = "line " + std::to_string(number);
    auto object = json_.object(text);
    if (!object) return context_.count(kHealth[0], 1, place);
    Setting setting;
    bool has_value = false;
    for (auto field : *object) {
      std::string_view key;
      JsonValue value;
      if (field.unescaped_key().get(key) || field.value().get(value))
        return context_.count(kHealth[0], 1, place);
      if (key == "entity") setting.entity = json_string(value).value_or("");
      if (key == "key") setting.key = json_string(value).value_or("");
      if (key == "source") setting.source = json_string(value).value_or("");
      if (key == "time") setting.time = json_time(value);
      if (key == "value") {
        has_value = !value.is_null();
        setting.value = json_text(value);
      }
    }
    if (!json_.clean()) return context_.count(kHealth[0], 1, place);
    if (setting.entity.empty() || setting.key.empty() || !has_value)
      return context_.count(kHealth[1], 1, place);
    if (setting.source.empty()) setting.source = context_.path;
    context_.out.settings.push_back(std::move(setting));
  }
  void end(bool) override {}
  void too_long(uint64_t number) override {
    context_.count(kHealth[2], 1, "line " + std::to_string(number));
  }

 private:
  ImportContext context_;
  JsonLine json_;
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
