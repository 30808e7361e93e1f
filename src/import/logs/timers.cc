// Timer lines of Megatron and DeepSpeed.
#include <algorithm>

#include "base/text.h"
#include "import/logs/dialects.h"

namespace firstwait {
namespace {

constexpr Ns kMaxTimer = 10'000'000'000'000'000;  // 115 days: sums of many do not overflow

bool ends_with(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}
bool starts_with(std::string_view s, std::string_view start) {
  return s.substr(0, start.size()) == start;
}

void sum(Ns& to, Ns value) {
  constexpr Ns kLimit = INT64_MAX / 64;  // 64 of them do not overflow
  value = std::min(value, kLimit);
  to = to == kNoDuration ? value : std::min(to + value, kLimit);
}

}  // namespace

// Megatron's names, with '-' as blanks. Sub-timers of a timer that is named too are left out.
void TimerTable::add(std::string_view key, Ns low, Ns high) {
  if (key == "forward compute")
    forward_ = high;
  else if (key == "backward compute")
    backward_ = high;
  else if (key == "optimizer")
    optimizer_ = high;
  else if (key == "batch generator")
    batch_ = high;  // runs inside forward-compute
  else if (key == "save checkpoint")
    out_.checkpoint = high;
  else if (key == "evaluate" || key == "eval time")
    out_.evaluation = high;
  else if (starts_with(key, "optimizer "))
    return;
  else if (ends_with(key, "all reduce") || ends_with(key, "all gather") ||
           ends_with(key, "reduce scatter") || ends_with(key, "grads sync"))
    sum(collective_, low);
  else if (ends_with(key, "recv") || ends_with(key, "send"))
    sum(p2p_, low);
}

bool TimerTable::deepspeed(std::string_view key, Ns value) {
  const bool part = ends_with(key, " microstep");
  if (part) key.remove_suffix(10);
  if (key == "fwd" || key == "forward")
    forward_ = value;
  else if (key == "bwd" || key == "backward")
    backward_ = value;
  else if (key == "bwd inner" || key == "backward inner")
    inner_ = value;
  else if (key == "bwd allreduce" || key == "backward allreduce")
    reduce_ = value;
  else if (key == "step")
    optimizer_ = value;
  else
    return false;
  out_.own_step = true;
  out_.part = out_.part || part;
  return true;
}

std::optional<TimerLine> TimerTable::finish() {
  TimerLine out = out_;
  auto& phases = out.phases;
  Ns forward = forward_, backward = backward_, collective = collective_;
  if (batch_ != kNoDuration && forward != kNoDuration && batch_ <= forward) {
    phases[index(Phase::input_wait)] = batch_;
    forward -= batch_;
  }
  if (reduce_ != kNoDuration && inner_ != kNoDuration) {
    backward = inner_;
    sum(collective, reduce_);
  }
  phases[index(Phase::forward)] = forward;
  phases[index(Phase::backward)] = backward;
  phases[index(Phase::optimizer)] = optimizer_;
  phases[index(Phase::collective)] = collective;
  phases[index(Phase::p2p)] = p2p_;
  *this = TimerTable{};
  const bool any = std::any_of(phases.begin(), phases.end(), [](Ns t) { return t != kNoDuration; });
  if (!any && out.checkpoint == kNoDuration && out.evaluation == kNoDuration) return std::nullopt;
  return out;
}

bool TimerTable::row(std::string_view text) {
  const size_t dots = text.find(" ..");
  const size_t colon = text.find(':');
  if (dots == std::string_view::npos || colon == std::string_view::npos || colon < dots)
    return false;
  std::string key = to_lower(trim(text.substr(0, dots)));
  std::replace(key.begin(), key.end(), '-', ' ');
  std::string_view values = trim(text.substr(colon + 1));
  if (!values.empty() && values.front() == '(') values = values.substr(1, values.find(')') - 1);
  const auto pieces = split(values, ',');
  const auto low = parse_scaled_ns(pieces.front(), 1'000'000),
             high = parse_scaled_ns(pieces.back(), 1'000'000);
  if (low && high && *low >= 0 && *high >= 0 && *low <= kMaxTimer && *high <= kMaxTimer)
    add(key, *low, *high);
  return true;
}

std::optional<TimerLine> read_timers(std::string_view text, std::vector<LogToken>& tokens) {
  const size_t at = text.find("time (ms) |");
  if (at == std::string_view::npos || at > 64) return std::nullopt;
  read_tokens(text.substr(at + 11), tokens);
  TimerTable timers;
  for (const auto& token : tokens) {
    const auto value = parse_scaled_ns(token.number, 1'000'000);
    if (!value || *value < 0 || *value > kMaxTimer) continue;
    if (!timers.deepspeed(token.key, *value)) timers.add(token.key, *value, *value);
  }
  return timers.finish();
}

}  // namespace firstwait
