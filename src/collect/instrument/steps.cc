#include "collect/instrument/steps.h"

#include <algorithm>
#include <cstring>

#include "base/saturate.h"
#include "firstwait/emit.h"

namespace firstwait {
namespace {

constexpr size_t kMostPending = 1 << 20;  // records of a process that never ends a step

// What may lie between two parts of an evaluation and belong to it.
bool beside_evaluation(uint8_t phase) {
  return phase == FIRSTWAIT_INPUT_WAIT || phase == FIRSTWAIT_H2D || phase == FIRSTWAIT_COLLECTIVE ||
         phase == FIRSTWAIT_HOST || phase == FIRSTWAIT_LOGGING || phase == FIRSTWAIT_GC ||
         phase >= 16;
}

struct Piece {
  Ns start, end;
  Phase phase;
};

Phase phase_of(uint8_t phase) {
  if (phase >= 16) return Phase::input_wait;  // the training thread loads
  return phase < kPhases ? static_cast<Phase>(phase) : Phase::unexplained;
}

using Spans = std::vector<const InstrumentSpan*>;

// The spans that lie in no other, of spans in order.
Spans outermost(const Spans& spans) {
  Spans out;
  for (const auto* s : spans)
    if (out.empty() || s->start >= out.back()->end) out.push_back(s);
  return out;
}

// An evaluation is more than its forward passes: from the wait for its first batch to the end of
// its last.
std::vector<Piece> evaluations(const Spans& spans) {
  const Spans top = outermost(spans);
  std::vector<Piece> out;
  for (size_t i = 0; i < top.size(); ++i) {
    if (top[i]->phase != FIRSTWAIT_EVALUATION) continue;
    size_t first = i, last = i;
    while (first > 0 && (top[first - 1]->phase == FIRSTWAIT_INPUT_WAIT ||
                         top[first - 1]->phase == FIRSTWAIT_H2D))
      --first;
    for (size_t j = i + 1; j < top.size(); ++j) {
      if (top[j]->phase == FIRSTWAIT_EVALUATION)
        last = j;
      else if (!beside_evaluation(top[j]->phase))
        break;
    }
    // The wait that finds the evaluation's loader empty.
    const int64_t loader = top[first]->phase == FIRSTWAIT_INPUT_WAIT ? top[first]->seq : -1;
    if (loader >= 0 && last + 1 < top.size() && top[last + 1]->phase == FIRSTWAIT_INPUT_WAIT &&
        top[last + 1]->seq == loader)
      ++last;
    out.push_back({top[first]->start, top[last]->end, Phase::evaluation});
    i = last;
  }
  return out;
}

// Sums the time of each piece, minus what lies in it: of nested ones the inner counts.
class Exclusive {
 public:
  Exclusive(Ns from, Ns to, std::array<Ns, kPhases>& sums) : cursor_(from), to_(to), sums_(sums) {}

  void add(Piece p) {
    p.start = std::clamp(p.start, cursor_, to_);
    p.end = std::min(p.end, to_);
    leave(p.start);
    if (!stack_.empty()) p.end = std::min(p.end, stack_.back().end);
    if (p.end <= p.start) return;
    advance(p.start);
    stack_.push_back(p);
  }
  void finish() { leave(to_); }

 private:
  void leave(Ns at) {
    while (!stack_.empty() && stack_.back().end <= at) {
      advance(stack_.back().end);
      stack_.pop_back();
    }
  }
  void advance(Ns to) {
    if (!stack_.empty() && to > cursor_) {
      Ns& sum = sums_[index(stack_.back().phase)];
      sum = sat_add(std::max<Ns>(sum, 0), sat_sub(to, cursor_));
    }
    cursor_ = std::max(cursor_, to);
  }

  Ns cursor_, to_;
  std::array<Ns, kPhases>& sums_;
  std::vector<Piece> stack_;
};

}  // namespace

void StepAssembler::add(InstrumentSpan span) {
  if (span.lane != FIRSTWAIT_THREAD || span.thread != thread_ || span.end < span.start) return;
  if (span.phase >= 16) add_loader_work(span.phase, span.start, span.end);
  if (spans_.size() >= kMostPending)
    spans_.erase(spans_.begin(), spans_.begin() + kMostPending / 2);
  spans_.push_back(std::move(span));
}

void StepAssembler::add_step(int64_t number, int64_t samples, Ns end, uint32_t thread) {
  ends_.push_back({number, samples, end, thread});
}

void StepAssembler::add_loader_work(uint8_t phase, Ns start, Ns end) {
  if (phase < 16 || phase >= 16 + kLoaderWorks || end < start) return;
  if (work_.size() >= kMostPending) work_.erase(work_.begin(), work_.begin() + kMostPending / 2);
  work_.push_back({phase, end, sat_sub(end, start)});
}

void StepAssembler::count_epoch(const Spans& spans, InstrumentStep& step) {
  for (const auto* s : spans) {
    if (s->phase != FIRSTWAIT_INPUT_WAIT || s->seq < 0) continue;
    if (s->op == "DataLoader.__iter__") {
      ++iterations_[s->seq];
    } else if (const auto found = iterations_.find(s->seq);
               found != iterations_.end() && found->second > 0) {
      const std::pair<int64_t, int64_t> now{s->seq, found->second};
      if (now != iteration_) ++epoch_;
      iteration_ = now;
    }
  }
  step.epoch = epoch_;
}

InstrumentStep StepAssembler::assemble(const End& end) {
  thread_ = end.thread;
  std::sort(spans_.begin(), spans_.end(), [](const InstrumentSpan& a, const InstrumentSpan& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  Spans spans;
  for (const auto& s : spans_)
    if (s.start < end.end && (boundary_ == kNoTime || s.end > boundary_)) spans.push_back(&s);
  InstrumentStep step;
  step.step = end.number;
  step.samples = end.samples;
  step.phases.fill(kNoDuration);
  step.loader.fill(kNoDuration);
  step.first = boundary_ == kNoTime;
  step.start = !step.first ? boundary_ : spans.empty() ? end.end : spans.front()->start;
  step.duration = std::max<Ns>(0, sat_sub(end.end, step.start));

  const std::vector<Piece> evaluated = evaluations(spans);
  std::vector<Piece> pieces = evaluated;
  double queued = 0;
  int asked = 0;
  Spans training;
  for (const auto* s : spans) {
    const bool inside = std::any_of(evaluated.begin(), evaluated.end(), [&](const Piece& e) {
      return s->start >= e.start && s->end <= e.end;
    });
    if (inside) continue;
    training.push_back(s);
    pieces.push_back({s->start, s->end, phase_of(s->phase)});
    if (s->phase == FIRSTWAIT_INPUT_WAIT && s->bytes >= 0)
      queued += static_cast<double>(s->bytes), ++asked;
    if (s->phase == FIRSTWAIT_COLLECTIVE && !s->group.empty())
      step.collectives.push_back({s->group, s->op, s->seq, s->bytes, s->start, s->end - s->start});
  }
  if (asked > 0) step.queued = queued / asked;
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.start < b.start; });
  Exclusive sums(step.start, end.end, step.phases);
  for (const Piece& p : pieces) sums.add(p);
  sums.finish();
  count_epoch(training, step);
  return step;
}

std::vector<InstrumentStep> StepAssembler::take(Ns until) {
  std::vector<InstrumentStep> out;
  size_t taken = 0;
  for (; taken < ends_.size() && ends_[taken].end <= until; ++taken) {
    const End& end = ends_[taken];
    if (boundary_ != kNoTime && end.end < boundary_) continue;
    InstrumentStep step = assemble(end);
    std::erase_if(work_, [&](const Work& w) {
      if (w.end > end.end) return false;
      Ns& sum = step.loader[static_cast<size_t>(w.phase) - 16];
      sum = sat_add(std::max<Ns>(sum, 0), w.duration);
      return true;
    });
    out.push_back(std::move(step));
    boundary_ = end.end;
    std::erase_if(spans_, [&](const InstrumentSpan& s) { return s.end <= end.end; });
  }
  ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(taken));
  return out;
}

}  // namespace firstwait
