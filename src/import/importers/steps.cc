// steps.jsonl of an evidence bundle: one row per rank and step, with phases,
// loader work and collectives.
#include "base/text.h"
#include "import/json_rows.h"

namespace firstwait {
namespace {

namespace od = simdjson::ondemand;

constexpr HealthCounter kHealth[] = {
    kBadJsonLine,
    kJsonLineTooLong,
    {"incomplete_step", Severity::data_loss,
     "give every row a rank, a step and a duration in seconds"},
    {"unknown_phase", Severity::error,
     "use the phase names of the format; this time is shown as unexplained"},
    {"phases_exceed_step", Severity::error,
     "phases are exclusive: their sum is at most the step's duration"},
    {"unknown_kind", Severity::info,
     "kind is train, evaluation, checkpoint or warmup; the row is taken as train"},
    {"bad_number", Severity::error,
     "a time is negative, longer than 104 days or no number; it is taken as absent"},
    kJsonArray,
    kBadIndex};
enum : size_t { kIncomplete = 2, kUnknownPhase, kExceed, kUnknownKind, kBadNumber };

int sniff(const Sniff& s) {
  const auto keys = first_row_keys(s.head);
  if (!has_key(keys, "rank") || !has_key(keys, "step")) return 0;
  // Rows of spans name one phase or op each.
  if (has_key(keys, "phase") || has_key(keys, "op")) return 0;
  return has_key(keys, "duration") ? 90 : has_key(keys, "phases") ? 60 : 0;
}

struct Collective {
  NameId group = kNoName, op = kNoName;
  int64_t seq = -1, bytes = -1;
  Ns start = kNoTime, duration = kNoDuration;
  bool on_device = true;
};

struct Row {
  NameId job = kNoName;
  std::optional<int32_t> rank, step;
  bool bad_index = false;
  Ns start = kNoTime, duration = kNoDuration;
  StepKind kind = StepKind::train;
  int32_t epoch = -1, local_rank = -1, stage = -1, dp_rank = -1;
  std::array<Ns, kPhases> phases;
  std::array<Ns, kLoaderWorks> loader;
  double workers = kNaN, queued = kNaN, samples = kNaN, tokens = kNaN, bytes = kNaN, loss = kNaN;
  std::string host, gpu;
  std::vector<Collective> collectives;
  Row() {
    phases.fill(kNoDuration);
    loader.fill(kNoDuration);
  }
};

class StepsReader final : public JsonRows {
 public:
  using JsonRows::JsonRows;

 private:
  void begin_row() override { row_ = {}; }
  void field(std::string_view key, JsonValue value) override { read(row_, key, value); }
  void end_row() override {
    if (row_.bad_index) return count(kBadIndex);
    if (!row_.rank || !row_.step || row_.duration == kNoDuration)
      return count(kHealth[kIncomplete]);
    append(row_);
  }

  Ns duration(JsonValue value) {
    const Ns ns = json_duration(value);
    if (ns == kNoDuration) count(kHealth[kBadNumber]);
    return ns;
  }

  void read(Row& row, std::string_view key, JsonValue value) {
    Names& names = context_.out.names;
    if (key == "rank") {
      row.rank = json_index(value);
      row.bad_index = row.bad_index || !row.rank;
    } else if (key == "step") {
      row.step = json_index(value);
      row.bad_index = row.bad_index || !row.step;
    } else if (key == "start") {
      row.start = json_time(value);
      if (row.start == kNoTime) count(kHealth[kBadNumber]);
    } else if (key == "duration") {
      row.duration = json_duration(value);
    } else if (key == "phases") {
      read_phases(row, value);
    } else if (key == "loader") {
      read_loader(row, value);
    } else if (key == "collectives") {
      read_collectives(row, value);
    } else if (key == "job") {
      row.job = names.intern(json_string(value).value_or(""));
    } else if (key == "host") {
      row.host = json_string(value).value_or("");
    } else if (key == "gpu") {
      row.gpu = json_text(value);
    } else if (key == "kind") {
      read_kind(row, json_string(value).value_or(""));
    } else if (key == "epoch") {
      row.epoch = json_index(value).value_or(-1);
    } else if (key == "local_rank") {
      row.local_rank = json_index(value).value_or(-1);
    } else if (key == "stage") {
      row.stage = json_index(value).value_or(-1);
    } else if (key == "dp_rank") {
      row.dp_rank = json_index(value).value_or(-1);
    } else if (key == "samples") {
      row.samples = json_number(value);
    } else if (key == "tokens") {
      row.tokens = json_number(value);
    } else if (key == "bytes") {
      row.bytes = json_number(value);
    } else if (key == "loss") {
      row.loss = json_number(value);
    }
  }

  void read_kind(Row& row, std::string_view text) {
    for (size_t i = 0; i < kStepKindNames.size(); ++i)
      if (kStepKindNames[i] == text) {
        row.kind = static_cast<StepKind>(i);
        return;
      }
    count(kHealth[kUnknownKind]);
  }

  void read_phases(Row& row, JsonValue value) {
    od::object object;
    if (value.get_object().get(object)) return;
    for (auto field : object) {
      std::string_view key;
      JsonValue seconds;
      if (field.unescaped_key().get(key) || field.value().get(seconds)) return;
      const auto phase = phase_from_name(key);
      if (!phase) count(kHealth[kUnknownPhase]);
      const Ns ns = duration(seconds);
      if (ns == kNoDuration) continue;
      Ns& cell = row.phases[index(phase.value_or(Phase::unexplained))];
      cell = std::min(kMaxDuration, std::max<Ns>(0, cell) + ns);
    }
  }

  void read_loader(Row& row, JsonValue value) {
    od::object object;
    if (value.get_object().get(object)) return;
    for (auto field : object) {
      std::string_view key;
      JsonValue number;
      if (field.unescaped_key().get(key) || field.value().get(number)) return;
      if (key == "workers") {
        row.workers = json_number(number);
      } else if (key == "queued") {
        row.queued = json_number(number);
      } else {
        for (size_t i = 0; i < kLoaderWorks; ++i)
          if (kLoaderWorkNames[i] == key) row.loader[i] = duration(number);
      }
    }
  }

  void read_collectives(Row& row, JsonValue value) {
    od::array array;
    if (value.get_array().get(array)) return;
    for (auto element : array) {
      od::object object;
      if (element.get_object().get(object)) return;
      Collective c;
      for (auto field : object) {
        std::string_view key;
        JsonValue v;
        if (field.unescaped_key().get(key) || field.value().get(v)) return;
        if (key == "group") c.group = context_.out.names.intern(json_text(v));
        if (key == "op") c.op = context_.out.names.intern(json_string(v).value_or(""));
        if (key == "seq") c.seq = json_int(v).value_or(-1);
        if (key == "start") c.start = json_time(v);
        if (key == "duration") c.duration = duration(v);
        if (key == "bytes") c.bytes = json_int(v).value_or(-1);
        bool flag = true;
        if (key == "on_device" && !v.get_bool().get(flag)) c.on_device = flag;
      }
      if (c.duration != kNoDuration && c.start != kNoTime) row.collectives.push_back(c);
    }
  }

  void append(const Row& row) {
    Evidence& out = context_.out;
    StepTable& t = out.steps;
    const size_t i = t.append(row.job, *row.rank, *row.step, row.start, row.duration);
    t.kind[i] = row.kind;
    t.epoch[i] = row.epoch;
    Ns sum = 0;
    for (size_t p = 0; p < kPhases; ++p) {
      if (row.phases[p] == kNoDuration) continue;
      t.set_phase(i, static_cast<Phase>(p), row.phases[p]);
      sum += row.phases[p];
    }
    // Rounding each phase to a microsecond may exceed the sum by half of one per phase.
    constexpr Ns kRounding = static_cast<Ns>(kPhases) * 500;
    if (sum > row.duration + kRounding) count(kHealth[kExceed]);
    for (size_t w = 0; w < kLoaderWorks; ++w)
      if (row.loader[w] != kNoDuration) t.set_loader(i, static_cast<LoaderWork>(w), row.loader[w]);
    set(t.loader_workers, i, row.workers);
    set(t.loader_queued, i, row.queued);
    set(t.samples, i, row.samples);
    set(t.tokens, i, row.tokens);
    set(t.bytes, i, row.bytes);
    set(t.loss, i, row.loss);
    for (const Collective& c : row.collectives)
      out.collectives.append(*row.rank, *row.step, c.group, c.op, c.seq, c.start, c.duration,
                             c.bytes, c.on_device);
    RankInfo& rank = out.rank(*row.rank);
    if (!row.host.empty()) rank.host = row.host;
    if (!row.gpu.empty()) rank.gpu = contains(row.gpu, ":") ? row.gpu : rank.host + ":" + row.gpu;
    if (row.local_rank >= 0) rank.local_rank = row.local_rank;
    if (row.stage >= 0) rank.stage = row.stage;
    if (row.dp_rank >= 0) rank.dp_rank = row.dp_rank;
    if (rank.source.empty()) rank.source = context_.path;
    if (row.start != kNoTime && row.start < kRelativeBelow) rank.relative_time = true;
  }
  void set(std::vector<double>& column, size_t row, double value) {
    if (!std::isnan(value)) context_.out.steps.set_number(column, row, value);
  }

  Row row_;
};

}  // namespace

extern const Importer importer_steps{
    .name = "steps",
    .summary =
        "steps of an evidence bundle: per rank and step the duration, its phases and collectives",
    .formats = "steps.jsonl",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<StepsReader>(std::move(c));
    }};

}  // namespace firstwait
