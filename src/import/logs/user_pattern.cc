#include "import/logs/user_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <vector>

#include "base/text.h"
#include "import/logs/log_lines.h"

namespace firstwait {
namespace {

constexpr uint32_t kMatchLimit = 100'000, kDepthLimit = 1'000, kHeapLimitKiB = 4'096;

struct FreeCode {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
};
struct FreeData {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
struct FreeContext {
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

enum class Field : uint8_t { step, rank, epoch, time, duration, elapsed, loss, samples, tokens };
constexpr std::array<std::string_view, 9> kFieldNames = {
    "step", "rank", "epoch", "time", "duration", "elapsed", "loss", "samples", "tokens"};
struct Group {
  uint32_t number = 0;
  Field field = Field::step;
  int64_t unit = 1'000'000'000;
};

std::optional<Group> read_group(std::string_view name, uint32_t number) {
  Group group{number, Field::step, 1'000'000'000};
  const size_t underscore = name.rfind('_');
  if (underscore != std::string_view::npos && time_unit_ns(name.substr(underscore + 1)) != 0) {
    group.unit = time_unit_ns(name.substr(underscore + 1));
    name = name.substr(0, underscore);
  }
  for (size_t i = 0; i < kFieldNames.size(); ++i)
    if (kFieldNames[i] == name) {
      group.field = static_cast<Field>(i);
      return group;
    }
  return std::nullopt;
}

Ns read_time(std::string_view text) {
  std::string iso(text);
  for (char& c : iso)
    if (c == '/') c = '-';
  if (const auto time = parse_iso8601_ns(iso)) return *time;
  const auto time = parse_time_ns(text);
  return time && *time >= 0 ? *time : kNoTime;
}

int32_t small(std::string_view text) {
  const auto value = parse_int(text);
  return value && *value >= 0 && *value < (1 << 30) ? static_cast<int32_t>(*value) : -1;
}

Ns not_negative(std::optional<int64_t> value) {
  return value && *value >= 0 ? *value : kNoDuration;
}

}  // namespace

struct UserPattern::Compiled {
  std::unique_ptr<pcre2_code, FreeCode> code;
  std::unique_ptr<pcre2_match_data, FreeData> data;
  std::unique_ptr<pcre2_match_context, FreeContext> limits;
  std::vector<Group> groups;
};

UserPattern::UserPattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
UserPattern::UserPattern(UserPattern&&) noexcept = default;
UserPattern& UserPattern::operator=(UserPattern&&) noexcept = default;
UserPattern::~UserPattern() = default;

Result<UserPattern> UserPattern::compile(const std::string& expression) {
  auto out = std::make_unique<Compiled>();
  int error = 0;
  PCRE2_SIZE at = 0;
  out->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                0, &error, &at, nullptr));
  if (!out->code) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return Error{fmt::format("the log pattern is no regular expression: {} at character {}",
                             reinterpret_cast<const char*>(text.data()), at),
                 "--log-pattern", "mend the expression"};
  }
  out->data.reset(pcre2_match_data_create_from_pattern(out->code.get(), nullptr));
  out->limits.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(out->limits.get(), kMatchLimit);
  pcre2_set_depth_limit(out->limits.get(), kDepthLimit);
  pcre2_set_heap_limit(out->limits.get(), kHeapLimitKiB);
  uint32_t count = 0, size = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(out->code.get(), PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(out->code.get(), PCRE2_INFO_NAMEENTRYSIZE, &size);
  pcre2_pattern_info(out->code.get(), PCRE2_INFO_NAMETABLE, &table);
  bool step = false, timed = false;
  for (uint32_t i = 0; i < count; ++i, table += size) {
    const uint32_t number = static_cast<uint32_t>(table[0]) << 8 | table[1];
    const auto group = read_group(reinterpret_cast<const char*>(table + 2), number);
    if (!group) continue;
    step = step || group->field == Field::step;
    timed = timed || group->field == Field::time || group->field == Field::duration ||
            group->field == Field::elapsed;
    out->groups.push_back(*group);
  }
  if (!step || !timed)
    return Error{
        "the log pattern needs a group (?<step>…) and one of (?<duration_ms>…), (?<elapsed_s>…), "
        "(?<time>…)",
        "--log-pattern", R"(for example: step=(?<step>\d+) .* took (?<duration_ms>[\d.]+) ms)"};
  return UserPattern(std::move(out));
}

std::optional<LogRecord> UserPattern::match(std::string_view line, bool& gave_up) const {
  const int rc = pcre2_match(compiled_->code.get(), reinterpret_cast<PCRE2_SPTR>(line.data()),
                             line.size(), 0, 0, compiled_->data.get(), compiled_->limits.get());
  if (rc < 0) {
    gave_up = rc != PCRE2_ERROR_NOMATCH;
    return std::nullopt;
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(compiled_->data.get());
  const uint32_t pairs = pcre2_get_ovector_count(compiled_->data.get());
  LogRecord r;
  for (const auto& group : compiled_->groups) {
    if (group.number >= pairs) continue;
    const PCRE2_SIZE from = ends[2 * group.number], to = ends[2 * group.number + 1];
    if (from == PCRE2_UNSET || to < from || to > line.size()) continue;
    const std::string_view text = line.substr(from, to - from);
    switch (group.field) {
      case Field::step:
        r.step = parse_int(text).value_or(-1);
        break;
      case Field::rank:
        r.rank = small(text);
        break;
      case Field::epoch:
        r.epoch = small(text);
        break;
      case Field::time:
        r.time = read_time(text);
        r.whole_seconds = text.find_first_of(".,") == std::string_view::npos && text.size() < 16;
        if (text.size() >= 19 && text.size() <= 20)
          r.whole_seconds = r.whole_seconds || text.find_first_of(".,") == std::string_view::npos;
        break;
      case Field::duration:
        r.duration = not_negative(parse_scaled_ns(text, group.unit));
        break;
      case Field::elapsed:
        r.cumulative = not_negative(parse_scaled_ns(text, group.unit));
        r.whole_seconds = group.unit == 1'000'000'000 && text.find('.') == std::string_view::npos;
        break;
      case Field::loss:
        r.loss = parse_double(text).value_or(kNaN);
        break;
      case Field::samples:
        r.samples = parse_double(text).value_or(kNaN);
        break;
      case Field::tokens:
        r.tokens = parse_double(text).value_or(kNaN);
        break;
    }
  }
  if (r.step < 0) return std::nullopt;
  return r;
}

}  // namespace firstwait
