#include "base/text.h"
#include "import/logs/dialects.h"

namespace firstwait {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "[[H:]MM:SS" as seconds, also "1 day, 02:03:04"; -1 when it is something else.
int64_t clock_seconds(std::string_view text) {
  text = trim(text);
  int64_t days = 0;
  const size_t day = text.find(" day");
  if (day != std::string_view::npos) {
    days = parse_int(text.substr(0, day)).value_or(-1);
    const size_t comma = text.find(',');
    if (days < 0 || days > 100'000 || comma == std::string_view::npos) return -1;
    text = trim(text.substr(comma + 1));
  }
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return -1;
  int64_t seconds = 0;
  for (const auto part : parts) {
    if (part.empty() || part.size() > 6 ||
        part.find_first_not_of("0123456789") != std::string_view::npos)
      return -1;
    seconds = seconds * 60 + *parse_int(part);
  }
  return seconds + days * 86'400;
}

}  // namespace

std::optional<ProgressBar> read_progress_bar(std::string_view text) {
  // The counter stands before a bracket that begins with a clock: "10/100 [00:05<".
  for (size_t open = text.find('['); open != std::string_view::npos;
       open = text.find('[', open + 1)) {
    const size_t stop = text.find_first_of("<,]", open);
    if (stop == std::string_view::npos) return std::nullopt;
    size_t clock_end = stop;
    if (text[stop] == ',' && contains(text.substr(open, stop - open), " day")) {
      clock_end = text.find_first_of("<]", stop);
      if (clock_end == std::string_view::npos) continue;
    }
    const int64_t seconds = clock_seconds(text.substr(open + 1, clock_end - open - 1));
    if (seconds < 0 || seconds > 100'000'000) continue;
    std::string_view count = trim(text.substr(0, open));
    ProgressBar bar;
    bar.elapsed = seconds * 1'000'000'000;
    size_t begin = count.size();
    while (begin > 0 && (is_digit(count[begin - 1]) || count[begin - 1] == '/')) --begin;
    std::string_view counter = count.substr(begin);
    if (counter.empty() && count.size() > 2 &&
        count.substr(count.size() - 2) == "it") {  // no total: "10it ["
      count.remove_suffix(2);
      begin = count.size();
      while (begin > 0 && is_digit(count[begin - 1])) --begin;
      counter = count.substr(begin);
    }
    const auto parts = split(counter, '/');
    const auto done = parse_int(parts.front());
    if (!done || parts.size() > 2) return std::nullopt;
    bar.done = *done;
    if (parts.size() == 2) bar.total = parse_int(parts.back()).value_or(-1);
    std::string_view label = trim(text.substr(0, begin));
    const size_t bar_begin = label.find('|');
    label = label.substr(0, bar_begin);
    const size_t percent = label.find('%');
    if (percent != std::string_view::npos) {
      size_t digits = percent;
      while (digits > 0 && is_digit(label[digits - 1])) --digits;
      label = label.substr(0, digits);
    }
    label = trim(label);
    while (!label.empty() && (label.back() == ':' || label.back() == ' ')) label.remove_suffix(1);
    const size_t word_end = label.find_last_not_of("0123456789/");
    if (word_end != std::string_view::npos && word_end + 1 < label.size()) {
      const std::string_view number = label.substr(word_end + 1);
      bar.number = parse_int(number.substr(0, number.find('/'))).value_or(-1);
      label = trim(label.substr(0, word_end + 1));
    }
    bar.label = std::string(label);
    const size_t close = text.find(']', open);
    const std::string_view inside =
        text.substr(clock_end, close == std::string_view::npos ? close : close - clock_end);
    const size_t comma = inside.find(", ");
    if (comma != std::string_view::npos) bar.postfix = inside.substr(comma + 2);
    return bar;
  }
  return std::nullopt;
}

}  // namespace firstwait
