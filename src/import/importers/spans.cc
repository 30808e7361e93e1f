// spans.jsonl of an evidence bundle: one operation with start and end per row.
#include <array>
#include <string>

#include "import/json_rows.h"
#include "import/span_rows.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    kBadJsonLine,
    kJsonLineTooLong,
    {"incomplete_span", Severity::data_loss,
     "give every row a rank, a start and a duration in seconds, and a phase or an op"},
    {"unknown_phase", Severity::error,
     "use the phase names of the format; the span is kept as unexplained"},
    kJsonArray,
    kBadIndex};
enum : size_t { kIncomplete = 2, kUnknownPhase };

int sniff(const Sniff& s) {
  const auto keys = first_row_keys(s.head);
  if (!has_key(keys, "rank") || !has_key(keys, "start") || !has_key(keys, "duration")) return 0;
  return has_key(keys, "phase") || has_key(keys, "op") ? 90 : 0;
}

class SpansReader final : public JsonRows {
 public:
  using JsonRows::JsonRows;

 private:
  void begin_row() override {
    row_ = {};
    bad_rank_ = false;
    for (auto& text : texts_) text.clear();
  }
  void field(std::string_view key, JsonValue value) override {
    if (key == "rank") {
      const auto rank = json_index(value);
      row_.rank = rank.value_or(-1);
      bad_rank_ = !rank;
    }
    if (key == "step") row_.step = json_index(value).value_or(-1);
    if (key == "start") row_.start = json_time(value);
    if (key == "duration") row_.duration = json_duration(value);
    if (key == "phase") texts_[kPhase] = json_string(value).value_or("");
    if (key == "op") texts_[kOp] = json_string(value).value_or("");
    if (key == "group" && !json_null(value)) texts_[kGroup] = json_text(value);
    if (key == "thread" && !json_null(value)) texts_[kThread] = json_text(value);
    if (key == "seq") row_.seq = json_int(value).value_or(-1);
    if (key == "bytes") row_.bytes = json_int(value).value_or(-1);
    if (key == "dp_rank") row_.dp = json_index(value).value_or(-1);
    if (key == "stage") row_.stage = json_index(value).value_or(-1);
    if (key == "model_chunk") row_.model_chunk = json_index(value).value_or(-1);
    if (key == "global_model_chunk") row_.global_chunk = json_index(value).value_or(-1);
    if (key == "microbatch") row_.microbatch = json_index(value).value_or(-1);
    bool flag = true;
    if (key == "on_device" && !value.get_bool().get(flag)) row_.on_device = flag;
  }
  void end_row() override {
    row_.phase = texts_[kPhase];
    row_.op = texts_[kOp];
    row_.group = texts_[kGroup];
    row_.thread = texts_[kThread];
    if (bad_rank_) return count(kBadIndex);
    if (row_.rank < 0 || row_.start == kNoTime || row_.duration == kNoDuration ||
        (row_.phase.empty() && row_.op.empty()))
      return count(kHealth[kIncomplete]);
    if (!rows_.add(row_)) count(kHealth[kUnknownPhase]);
  }
  void end(bool) override { rows_.finish(); }

  enum Text : size_t { kPhase, kOp, kGroup, kThread, kTexts };
  std::array<std::string, kTexts> texts_;
  SpanRow row_;
  bool bad_rank_ = false;
  SpanRows rows_{context_};
};

}  // namespace

extern const Importer importer_spans{.name = "spans",
                                     .summary =
                                         "spans of an evidence bundle: operations with start and "
                                         "end, collectives, pipeline operations",
                                     .formats = "spans.jsonl",
                                     .health = kHealth,
                                     .sniff = sniff,
                                     .open = [](ImportContext c) -> std::unique_ptr<Reader> {
                                       return std::make_unique<SpansReader>(std::move(c));
                                     }};

}  // namespace firstwait
