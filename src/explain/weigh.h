// Adds up what speaks for and against one hypothesis. Weights are natural-log Bayes factors on the
// scale of Kass and Raftery, "Bayes Factors", JASA 90 (1995) 773-795: 1 to 3 positive, 3 to 5
// strong, above 5 very strong.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/numbers.h"
#include "explain/signals.h"

namespace firstwait {

inline constexpr double kWeak = 1, kPositive = 2, kStrong = 3.5, kVeryStrong = 5.5;

// The share of a step below which a phase is not worth an accusation: the limit at which PyTorch's
// own profiler starts to speak of "high time cost on input data loading" (kineto, tb_plugin,
// analyze()), and the error up to which a replay is accepted (arXiv 2505.05713).
inline constexpr Threshold kRelevantShare{
    "share of the step", 0.05, "ratio",
    "PyTorch profiler plugin: DataLoader above 5 % of the step is reported"};

// What the phases of a hypothesis cost, and whether that is worth explaining.
struct Stake {
  enum class State : unsigned char {
    unknown,  // the phases were not recorded
    clear,    // recorded, and too small or not grown
    present   // a relevant part of the step, or of its growth
  };
  State state = State::unknown;
  Phase phase = Phase::unexplained;  // the largest of them
  double now_s = kNaN, before_s = kNaN;
  double excess_s = kNaN;  // growth over the baseline; all of it when the slowness is chronic
  double share = kNaN;     // of the step, now
};
Stake stake(const View& view, std::span<const Phase> phases);
inline Stake stake(const View& view, std::initializer_list<Phase> phases) {
  return stake(view, std::span(phases.begin(), phases.size()));
}

// "input wait".
std::string_view phase_words(Phase phase);
// "0.002 → 0.458 s" or "0.458 s": seconds per step.
std::string change_text(double before, double now);
inline std::string seconds_text(double s) { return seconds(s); }
inline std::string bytes_rate_text(double rate) { return bytes_per_second(rate); }
inline std::string percent_text(double ratio) { return percent(ratio); }

class Weighing {
 public:
  // Decides by itself.
  Weighing& supports(double llr, EvidenceRow row);
  // Counts only beside something that decides.
  Weighing& hints(double llr, EvidenceRow row);
  Weighing& contradicts(double llr, std::string reason, EvidenceRow row);
  // Contradicts when the stake is clear and returns false: nothing to explain. Unknown phases cost
  // kWeak.
  bool gate(const Stake& stake);
  Weighing& where(std::string entity);
  // A link of the chain; the engine puts the phase that waits before them.
  Weighing& link(std::string what, std::string at, std::string value);
  bool decided() const { return decided_; }
  double llr() const;

  // Supported when the sum is positive and something decided; refuted when something contradicted;
  // else untested. Effect: the stake's excess as the upper end, the lower end unknown.
  Verdict verdict(std::string because, std::initializer_list<std::string_view> needs) &&;

 private:
  Verdict v_;
  Stake stake_;
  double for_ = 0, hints_ = 0, against_ = 0, strongest_ = 0;
  bool decided_ = false, contradicted_ = false;
};

// "loader.num_workers", one number that has no series behind it.
EvidenceRow fact(std::string text, std::string metric, std::string entity, double now,
                 std::string unit, bool for_it, double before = kNaN);

// A value of a setting that replaced another.
struct SettingChange {
  const Setting *from, *to;
};
// Changes of all keys that start with `prefix`, in time order per entity and key.
std::vector<SettingChange> setting_changes(const View& view, std::string_view prefix);
// How far from the onset an event may lie and still coincide: the onset's own interval, at least
// one minute (the usual scrape interval), at most one twentieth of the baseline.
double onset_tolerance_s(const View& view);
// Of a coincidence in time alone: the rarer by chance (tolerance against the time watched), the
// more; at most kPositive.
double coincidence_llr(const View& view);
// Whether the time lies at the onset: at most onset_tolerance_s before it, a tenth of that after.
bool at_onset(const View& view, Ns time);

}  // namespace firstwait
