// trainer_state.json of the Hugging Face Trainer.
#include <fmt/format.h>
#include <simdjson.h>

#include "base/text.h"
#include "import/importer.h"
#include "import/logs/dialects.h"
#include "import/logs/log_lines.h"
#include "import/logs/step_assembler.h"

namespace firstwait {
namespace {

constexpr HealthCounter kHealth[] = {
    {"bad_document", Severity::data_loss,
     "the file is no whole JSON document with a log_history; copy it again"},
    {"too_large", Severity::data_loss, "the file is larger than 256 MiB; it was not read"},
    kLogNoTiming,
    kLogRestart,
    kLogRepeated,
    kLogInterleaved,
    kLogTimerReset,
    kLogFirstUntimed,
    kLogBadNumber,
    kLogPhasesExceed,
    kLogUnitAssumed,
    kLogCoarseClock};

int sniff(const Sniff& s) {
  const size_t first = s.head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && s.head[first] == '{' &&
                 contains(s.head, "\"log_history\"")
             ? 85
             : 0;
}

Ns seconds(std::string_view json) {
  return parse_scaled_ns(json, 1'000'000'000).value_or(kNoDuration);
}

class TrainerStateReader final : public WholeReader {
 public:
  explicit TrainerStateReader(ImportContext context)
      : context_(std::move(context)), steps_(context_, std::max(0, rank_hint(context_.path))) {}

 protected:
  void document(std::string& text, bool, bool too_large) override {
    if (too_large) return context_.count(kHealth[1]);
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    simdjson::dom::array history;
    if (parser.parse(text.data(), text.size(), false).get(root) || root["log_history"].get(history))
      return context_.count(kHealth[0]);
    uint64_t number = 0;
    for (const simdjson::dom::element entry : history) record(entry, ++number);
    steps_.finish("steps");
  }

 private:
  void record(simdjson::dom::element entry, uint64_t number) {
    simdjson::dom::element runtime;
    int64_t step = -1;
    if (entry["step"].get(step)) step = -1;
    if (entry["eval_runtime"].get(runtime) == simdjson::SUCCESS)
      return steps_.evaluation(-1, step, kNoTime, seconds(simdjson::minify(runtime)));
    if (entry["train_runtime"].get(runtime) == simdjson::SUCCESS) return end(entry);
    auto line = read_key_values(simdjson::minify(entry), tokens_);
    if (!line) return;
    line->record.line = number;
    if (line->evaluation) return steps_.evaluation(-1, step, kNoTime, kNoDuration);
    if (line->unit_assumed) context_.count(kLogUnitAssumed, 1, fmt::format("entry {}", number));
    steps_.add(line->record);
  }
  void end(simdjson::dom::element entry) {
    simdjson::dom::object fields;
    if (entry.get(fields)) return;
    Event e;
    e.kind = "job_end";
    e.entity = log_job(context_);
    e.source = context_.path;
    for (const auto field : fields)
      if (field.key.substr(0, 6) == "train_")
        e.attributes.emplace_back(field.key, std::string(simdjson::minify(field.value)));
    context_.out.events.push_back(std::move(e));
  }

  ImportContext context_;
  StepAssembler steps_;
  std::vector<LogToken> tokens_;
};

}  // namespace

extern const Importer importer_trainer_state{
    .name = "trainer_state",
    .summary = "the history that the Hugging Face Trainer keeps beside its checkpoints",
    .formats = "trainer_state.json; steps need a time of their own in it (step_time, timestamp)",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<TrainerStateReader>(std::move(c));
    }};

}  // namespace firstwait
