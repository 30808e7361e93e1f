#include "import/json_rows.h"

#include "base/text.h"

namespace firstwait {

void JsonRows::count(const HealthCounter& counter) {
  context_.count(counter, 1, "line " + std::to_string(number_));
}

void JsonRows::line(std::string_view text, uint64_t number) {
  if (trim(text).empty()) return;
  number_ = number;
  auto object = json_.object(text);
  if (!object) return count(kBadJsonLine);
  begin_row();
  for (auto pair : *object) {
    std::string_view key;
    JsonValue value;
    if (pair.unescaped_key().get(key) || pair.value().get(value)) return count(kBadJsonLine);
    field(key, value);
  }
  if (!json_.clean()) return count(kBadJsonLine);
  end_row();
}

void JsonRows::too_long(uint64_t number) {
  number_ = number;
  count(kJsonLineTooLong);
}

}  // namespace firstwait
