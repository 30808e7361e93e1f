// events.jsonl of an evidence bundle (FORMATS section 1).
#include <simdjson.h>

#include "base/text.h"
#include "import/importer.h"

namespace firstwait {
namespace {

constexpr HealthCounter kBadLine{"bad_line", Severity::data_loss, "the line is not a JSON object; write it again"};
constexpr HealthCounter kIncomplete{"incomplete_event", Severity::data_loss, "give every event a kind and a start"};
constexpr HealthCounter kTooLong{"line_too_long", Severity::data_loss, "split the line: 16 MiB is the limit"};
constexpr HealthCounter kHealth[] = {kBadLine, kIncomplete, kTooLong};

int sniff(const Sniff& s) {
  const std::string_view line = trim(s.head.substr(0, s.head.find('\n')));
  if (line.empty() || line.front() != '{') return 0;
  return contains(line, "\"kind\"") && contains(line, "\"start\"") && !contains(line, "\"rank\"") ? 90 : 0;
}

class EventsReader final : public LineReader {
 public:
  explicit EventsReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void line(std::string_view text, uint64_t number) override {
    if (trim(text).empty()) return;
    const std::string place = "line " + std::to_string(number);
    simdjson::dom::element object;
    if (parser_.parse(text.data(), text.size(), true).get(object) || !object.is_object())
      return context_.count(kHealth[0], 1, place);
    Event event;
    event.source = context_.path;
    std::string_view value;
    if (object["kind"].get(value) == simdjson::SUCCESS) event.kind = value;
    if (object["entity"].get(value) == simdjson::SUCCESS) event.entity = value;
    event.start = time(object["start"]);
    event.end = time(object["end"]);
    if (event.kind.empty() || event.start == kNoTime) return context_.count(kHealth[1], 1, place);
    simdjson::dom::object attributes;
    if (object["attributes"].get(attributes) == simdjson::SUCCESS)
      for (const auto field : attributes) {
        std::string_view string;
        event.attributes.emplace_back(field.key, field.value.get(string) == simdjson::SUCCESS
                                                     ? std::string(string)
                                                     : simdjson::minify(field.value));
      }
    context_.out.events.push_back(std::move(event));
  }
  void end(bool) override {}
  void too_long(uint64_t number) override { context_.count(kHealth[2], 1, "line " + std::to_string(number)); }

 private:
  static Ns time(simdjson::simdjson_result<simdjson::dom::element> field) {
    simdjson::dom::element value;
    if (field.get(value) || !(value.is_number() || value.is_string())) return kNoTime;
    std::string_view string;
    if (value.get(string) == simdjson::SUCCESS) return parse_iso8601_ns(string).value_or(kNoTime);
    return parse_time_ns(simdjson::minify(value)).value_or(kNoTime);
  }
  ImportContext context_;
  simdjson::dom::parser parser_;
};

}  // namespace

extern const Importer importer_events{
    .name = "events",
    .summary = "events of an evidence bundle: checkpoints, placements, faults",
    .formats = "events.jsonl",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> { return std::make_unique<EventsReader>(std::move(c)); }};

}  // namespace firstwait
