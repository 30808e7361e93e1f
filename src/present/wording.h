// The sentences that text and HTML share, so that both say the same.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/verdict.h"

namespace firstwait {

enum class Tone : uint8_t { slow, undetermined, healthy, cannot_judge };
Tone tone_of(const Report& report);
// Whether the report names where the waiting begins: only then may the ring and its colour be
// shown.
bool names_origin(const Report& report);
// "likely" and, from the first finding, "73 %"; the second is empty when nothing was found.
struct Certainty {
  std::string word, percent;
};
Certainty certainty(const Report& report);

std::string capital(std::string text);        // with a capital first letter
std::string job_title(const Report& report);  // the job's id, what was read, or "this job"
std::string subject_line(
    const Report& report);  // "8 ranks on node07, node08 · 65,554 steps in 2 h 46 min · team-a"

// The verdict sentence, cut behind its "because"; `reason` is empty when there is none. `with_time`
// sets the time of the onset behind its step.
struct Headline {
  std::string claim, reason;
};
Headline headline_parts(const Report& report, bool with_time);

std::string rivals_sentence(
    const Report& report);  // "9 rivals refuted, 1 untested"; empty when nothing was tested
std::string lost_text(const Report& report);  // "4.4 GPU h"; empty when not known

std::string signal_words(std::string_view signal);   // "gpu_utilization" -> "GPU utilization"
std::string evidence_value(const EvidenceRow& row);  // "14 → 498 MB/s"; empty without numbers
std::string refusal(const RuledOut& ruled_out);      // its reason with a number
std::string event_text(
    const Event& event);  // "dataset change: path /nvme/imagenet to /data/imagenet"
// The last recorded change before the onset, with how long before; empty when there is none.
std::string change_before_onset(const Report& report);

// Slow steps, standing offsets, late episodes, groupings and observations, one sentence each.
std::vector<std::string> also_seen(const Report& report);
std::vector<std::string> what_if_lines(const Report& report);
std::string recovery_line(const Report& report);  // empty when nothing is known

// Those that could account for what is unexplained first, otherwise in order.
std::vector<const Untested*> untested_by_relevance(const Report& report);
// Causes of one family with one and the same answer.
struct Rival {
  std::vector<std::string> causes;
  std::string text;  // why not, or what is needed
  bool relevant = false;
};
std::vector<Rival> refuted_rivals(const Report& report);
std::vector<Rival> untested_rivals(const Report& report);  // the relevant ones first
std::vector<Rival> grouped(const std::vector<Rival>& rivals);
std::string group_name(const std::vector<std::string>& causes);  // "change.* (5 causes)"
std::string folded_text(const std::vector<std::string>& causes,
                        bool others);  // "46 others untested …: gpu 9, storage 8"
std::string health_sentence(const HealthEntry& entry);
// Lost data first, then errors, then notes.
std::vector<const HealthEntry*> health_by_severity(const std::vector<HealthEntry>& entries);
std::string input_summary(
    const Report& report);  // "3 files, 0 errors, 1 note · evidence: phases · replay error 1.3 %"

// "no gain" when the interval says so, otherwise the interval.
bool is_useless(const Action& action);

// Seconds of the ledger in one unit; whether a baseline is known for any row.
bool has_baseline(const Report& report);
double step_seconds(const Report& report);  // the current step time, or the ledger's sum
std::optional<double> baseline_seconds(const Report& report);

}  // namespace firstwait
