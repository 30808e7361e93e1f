// What explain says: verdicts of hypotheses, findings, and the report that present shows.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/attribution.h"
#include "model/evidence.h"

namespace firstwait {

enum class Outcome : uint8_t { supported, refuted, untested };

// One number that speaks for or against.
struct EvidenceRow {
  std::string text;            // a short clause: "loading runs in the training thread"
  std::string metric, entity;  // where it comes from; may be empty
  std::optional<double> baseline, current;
  std::string unit;  // "s/step", "ratio", "bytes/s", ...
  bool supports = true;
};

struct ChainLink {
  std::string what;   // "Ranks wait for input"
  std::string where;  // "every step"
  std::string value;  // "0.002 → 0.458 s"
};

struct Effect {
  double seconds_per_step = kNaN;
  Interval interval;  // what it may be at least and at most; a side that is not known is NaN
};

// The result of one hypothesis over one view.
struct Verdict {
  Outcome outcome = Outcome::untested;
  double llr = 0;  // log-likelihood ratio, natural log; positive supports
  std::optional<Effect> effect;
  std::vector<std::string> where;  // entities, most specific first: "rank/3", "host/node07"
  std::vector<EvidenceRow> evidence;
  std::vector<std::string> needs;  // when untested: the signals that would decide
  std::string reason;              // when refuted: the clause with the number
  std::string because;             // when supported: completes "..., because"
  std::vector<ChainLink> chain;    // links this cause adds, from its symptom to itself
  std::optional<Onset> since;
  // It cost as much before the onset: true, and not why the job slowed down.
  bool throughout = false;
};

struct Action {
  std::string id, text, caution;
  Interval speedup;           // a bound that is not known is NaN and shown so
  std::string assumption;     // what the gain rests on
  std::string then_bound_by;  // may be empty
};

struct Finding {
  std::string cause, title;
  double confidence = 0;  // 0..0.99
  Verdict verdict;
  std::string scope;  // rank, host, rack, job, project, cluster
  std::optional<double> cost_share, cost_gpu_hours;
  std::vector<Action> actions;
  std::string owner;
  int checklist_step = 0;
};

struct RuledOut {
  std::string cause, reason;
  std::vector<EvidenceRow> evidence;
};
struct Untested {
  std::string cause;
  std::vector<std::string> needs;
  bool relevant = false;  // could account for what is unexplained here: worth measuring
};

enum class CheckStatus : uint8_t { suspect, clear, unobserved };
struct ChecklistRow {
  int step = 0;
  std::string name;
  CheckStatus status = CheckStatus::unobserved;
  std::string summary;
  bool begins_here = false;
};

struct Symptom {
  std::string signal, unit, shape;
  std::optional<double> before, now;
};

// One measured signal over time, drawn on the report's one axis.
struct SignalLane {
  std::string name;    // "GPU busy"
  std::string detail;  // "mean and range of 8 GPUs"; may be empty
  std::string entity, metric;
  std::string unit;        // as in EvidenceRow
  int checklist_step = 0;  // 0: none
  std::vector<Ns>
      time;  // in order, on the clock of JobSteps::start; empty: one value per entry of JobSteps
  std::vector<double> value;      // NaN: missing
  std::vector<double> low, high;  // range over what was averaged; empty when one thing was measured
  std::optional<double> before, now, ceiling;
};

struct NextMeasurement {
  std::string text;
  std::vector<std::string> decides;
};

// A true statement that accuses nobody: a standing offset, an isolated slow step, a change that
// cost nothing.
struct Observation {
  std::string text, where;
  std::optional<double> seconds_per_step;
};

struct Recovery {
  std::optional<int32_t> last_good_step;
  std::optional<double> gpu_hours_at_risk;
  std::optional<int64_t> failed_saves;
};

// Everything present needs; the text, JSON and HTML say the same.
struct Report {
  JobInfo job;
  std::string
      label;  // what was read, as its reader calls it: the file or folder; for a job without a name
  std::vector<std::string> hosts;
  std::vector<int32_t> rank_ids;
  std::vector<std::string> rank_hosts;  // parallel to rank_ids, "" unknown; may be empty
  Ns start = kNoTime, end = kNoTime;    // kNoTime also when times are relative
  double span_s = kNaN;                 // how long the evidence lasts
  Attribution attribution;
  std::vector<Finding> findings;  // most likely first
  std::string headline;           // the verdict sentence
  std::string
      verdict_word;  // very likely, likely, possible, undetermined, healthy, inconclusive, data
  std::vector<Observation> observations;
  std::vector<RuledOut> ruled_out;
  std::vector<Untested> untested;
  std::vector<ChecklistRow> checklist;  // always 7
  std::vector<Symptom> symptoms;
  std::vector<SignalLane> lanes;  // those that speak for or against, most telling first
  Recovery recovery;
  std::vector<NextMeasurement> next_measurements;
  std::vector<HealthEntry> input_health;
  std::vector<Source> sources;
  std::vector<Event> events;  // those inside the window, for the lanes
};

}  // namespace firstwait
