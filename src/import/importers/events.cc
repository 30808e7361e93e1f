// events.jsonl of an evidence bundle.
#include "import/json_rows.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    kBadJsonLine,
    kJsonLineTooLong,
    {"incomplete_event", Severity::data_loss, "give every event a kind and a start"},
    kJsonArray};
enum : size_t { kIncomplete = 2 };

int sniff(const Sniff& s) {
  const auto keys = top_level_keys(s.head);
  // Rows of steps have a kind and a start too.
  return has_key(keys, "kind") && has_key(keys, "start") && !has_key(keys, "rank") &&
                 !has_key(keys, "duration")
             ? 90
             : 0;
}

class EventsReader final : public JsonRows {
 public:
  using JsonRows::JsonRows;

 private:
  void begin_row() override {
    event_ = {};
    event_.source = context_.path;
  }
  void field(std::string_view key, JsonValue value) override {
    if (key == "kind") event_.kind = json_string(value).value_or("");
    if (key == "entity") event_.entity = json_string(value).value_or("");
    if (key == "start") event_.start = json_time(value);
    if (key == "end") event_.end = json_time(value);
    if (key == "attributes") read_attributes(value);
  }
  void end_row() override {
    if (event_.kind.empty() || event_.start == kNoTime) return count(kHealth[kIncomplete]);
    context_.out.events.push_back(std::move(event_));
  }
  void read_attributes(JsonValue value) {
    simdjson::ondemand::object object;
    if (value.get_object().get(object)) return;
    for (auto pair : object) {
      std::string_view key;
      JsonValue attribute;
      if (pair.unescaped_key().get(key) || pair.value().get(attribute)) return;
      std::string name(key);
      event_.attributes.emplace_back(std::move(name), json_text(attribute));
    }
  }

  Event event_;
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
