// events.jsonl of an evidence bundle (FORMATS section 1).
#include "base/text.h"
#include "import/importer.h"
#include "import/json_fields.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"bad_line", Severity::data_loss, "the line is not a JSON object; write it again"},
    {"incomplete_event", Severity::data_loss, "give every event a kind and a start"},
    {"line_too_long", Severity::data_loss, "split the line: 16 MiB is the limit"}};

int sniff(const Sniff& s) {
  const auto keys = top_level_keys(s.head);
  // Rows of steps have a kind and a start too.
  return has_key(keys, "kind") && has_key(keys, "start") && !has_key(keys, "rank") &&
                 !has_key(keys, "duration")
             ? 90
             : 0;
}

class EventsReader final : public LineReader {
 public:
  explicit EventsReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void line(std::string_view text, uint64_t number) override {
    if (trim(text).empty()) return;
    const std::string place = "line " + std::to_string(number);
    auto object = json_.object(text);
    if (!object) return context_.count(kHealth[0], 1, place);
    Event event;
    event.source = context_.path;
    for (auto field : *object) {
      std::string_view key;
      JsonValue value;
      if (field.unescaped_key().get(key) || field.value().get(value))
        return context_.count(kHealth[0], 1, place);
      if (key == "kind") event.kind = json_string(value).value_or("");
      if (key == "entity") event.entity = json_string(value).value_or("");
      if (key == "start") event.start = json_time(value);
      if (key == "end") event.end = json_time(value);
      if (key == "attributes") read_attributes(event, value);
    }
    if (!json_.clean()) return context_.count(kHealth[0], 1, place);
    if (event.kind.empty() || event.start == kNoTime) return context_.count(kHealth[1], 1, place);
    context_.out.events.push_back(std::move(event));
  }
  void end(bool) override {}
  void too_long(uint64_t number) override {
    context_.count(kHealth[2], 1, "line " + std::to_string(number));
  }

 private:
  static void read_attributes(Event& event, JsonValue value) {
    simdjson::ondemand::object object;
    if (value.get_object().get(object)) return;
    for (auto field : object) {
      std::string_view key;
      JsonValue attribute;
      if (field.unescaped_key().get(key) || field.value().get(attribute)) return;
      std::string name(key);
      event.attributes.emplace_back(std::move(name), json_text(attribute));
    }
  }

  ImportContext context_;
  JsonLine json_;
};

}  // namespace

extern const Importer importer_events{
    .name = "events",
    .summary = "events of an evidence bundle: checkpoints, placements, faults",
    .formats = "events.jsonl",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<EventsReader>(std::move(c));
    }};

}  // namespace firstwait
