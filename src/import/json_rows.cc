#include "import/json_rows.h"

#include <utility>

#include "base/text.h"

namespace firstwait {

std::vector<std::string_view> first_row_keys(std::string_view head) {
  head = trim(head);
  if (head.starts_with("[")) head = trim(head.substr(1));
  return head.starts_with("{") ? top_level_keys(head) : std::vector<std::string_view>{};
}

void JsonRows::count(const HealthCounter& counter) {
  context_.count(counter, 1, "line " + std::to_string(number_));
}

void JsonRows::line(std::string_view text, uint64_t number) {
  if (trim(text).empty()) return;
  number_ = number;
  if (array_) return;
  if (!std::exchange(any_, true) && trim(text).starts_with("[")) {
    array_ = true;
    return count(kJsonArray);
  }
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
