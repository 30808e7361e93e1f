#include "attribute/trace/timeline.h"

namespace firstwait {
namespace {

// What is known inside a span, given what is known around it.
Piece inside(const Piece& around, const HostSpan& span) {
  Piece p = around;
  if (span.name == TraceName::step || span.name == TraceName::iteration) {
    // An optimizer that calls the training step back (a closure) holds more than the optimizer.
    if (around.phase == Phase::optimizer) p.phase = Phase::unexplained;
    return p;
  }
  p.covered = true;
  if (is_firm(around.phase)) {
    // Collection of garbage strikes anywhere; other work inside a wait or a save is part of it.
    if (span.phase == Phase::gc) p.phase = Phase::gc;
  } else if (span.phase != Phase::unexplained) {
    // Recomputing activations is a part of backward.
    if (!(around.phase == Phase::backward && span.phase == Phase::forward)) p.phase = span.phase;
    p.sync = p.copy = false;
    p.zero_grad = span.name == TraceName::zero_grad;
  } else if (span.name == TraceName::sync_call) {
    p.sync = true;
  } else if (span.name == TraceName::copy_call) {
    p.copy = true;
  }
  if (span.name == TraceName::loader_single) p.loader = LoaderKind::main_thread;
  if (span.name == TraceName::loader_multi) p.loader = LoaderKind::workers;
  if (p.phase == Phase::input_wait && p.loader == LoaderKind::none) p.loader = LoaderKind::unknown;
  return p;
}

class Flattener {
 public:
  std::vector<Piece> run(const std::vector<HostSpan>& spans) {
    pieces_.reserve(spans.size() + spans.size() / 2);
    for (const HostSpan& span : spans) {
      if (span.end <= span.start || span.beside) continue;
      close_until(span.start);
      // Steps of a pipelined loop overlap: what sticks out of another step ends that one here.
      if (span.step >= 0 && !stack_.empty() && span.end > stack_.front().end && step_ >= 0 &&
          step_ != span.step) {
        for (Piece& p : stack_) p.end = span.start;
        emit_top(span.start);
        stack_.clear();
      }
      if (stack_.empty()) step_ = span.step;
      if (stack_.empty()) {
        if (!pieces_.empty()) emit({.start = pieces_.back().end, .end = span.start});
      } else {
        emit_top(span.start);
      }
      Piece p = inside(stack_.empty() ? Piece{} : stack_.back(), span);
      p.start = span.start;
      // Spans of one thread nest; one that sticks out of its parent is cut there.
      p.end = stack_.empty() ? span.end : std::min(span.end, stack_.back().end);
      stack_.push_back(p);
      at_ = span.start;
    }
    close_until(INT64_MAX);
    return std::move(pieces_);
  }

 private:
  void close_until(Ns t) {
    while (!stack_.empty() && stack_.back().end <= t) {
      const Ns end = stack_.back().end;
      emit_top(end);
      stack_.pop_back();
      at_ = end;
    }
  }
  void emit_top(Ns end) {
    Piece p = stack_.back();
    p.start = at_;
    p.end = end;
    emit(p);
  }
  void emit(Piece p) {
    if (p.end <= p.start) return;
    if (!pieces_.empty()) {
      Piece& last = pieces_.back();
      if (last.end == p.start && last.phase == p.phase && last.covered == p.covered &&
          last.sync == p.sync && last.copy == p.copy && last.loader == p.loader &&
          last.zero_grad == p.zero_grad) {
        last.end = p.end;
        return;
      }
    }
    pieces_.push_back(p);
  }
  std::vector<Piece> pieces_, stack_;
  Ns at_ = 0;          // everything before is emitted
  int32_t step_ = -1;  // that the outermost span carries
};

// Backward as the autograd thread shows it: runs of nodes, split where the training thread did
// something between.
Intervals backward_runs(const RankTrace& trace, const std::vector<Piece>& pieces) {
  Intervals runs;
  size_t at = 0;
  for (const TimeInterval& node : trace.autograd) {
    if (!runs.empty()) {
      TimeInterval& run = runs.back();
      bool busy = false;
      if (node.start > run.end) {
        while (at < pieces.size() && pieces[at].end <= run.end) ++at;
        for (size_t i = at; i < pieces.size() && pieces[i].start < node.start && !busy; ++i)
          busy =
              pieces[i].covered && pieces[i].start >= run.end && pieces[i].phase != Phase::backward;
      }
      if (!busy) {
        run.end = std::max(run.end, node.end);
        continue;
      }
    }
    runs.push_back(node);
  }
  return runs;
}

// Calls `change(piece)` for the parts of `pieces` inside `windows`, cutting pieces at their
// borders.
template <typename Change>
std::vector<Piece> within(std::vector<Piece> pieces, const Intervals& windows,
                          const Change& change) {
  if (windows.empty()) return pieces;
  std::vector<Piece> out;
  out.reserve(pieces.size() + 2 * windows.size());
  size_t w = 0;
  for (Piece p : pieces) {
    while (p.start < p.end) {
      while (w < windows.size() && windows[w].end <= p.start) ++w;
      Piece part = p;
      const bool in = w < windows.size() && windows[w].start <= p.start;
      if (w < windows.size()) part.end = std::min(p.end, in ? windows[w].end : windows[w].start);
      if (in) change(part);
      out.push_back(part);
      p.start = part.end;
    }
  }
  return out;
}

bool is_open(const Piece& p) { return p.phase == Phase::unexplained; }

// The stretches in which forward runs without saying so: from the first operation behind the batch
// (or behind what else came before) to backward; and the operations between backward and the
// optimizer (clipping, unscaling).
struct Stretches {
  Intervals forward, optimizer;
};

Stretches find_stretches(const std::vector<Piece>& pieces, const std::vector<StepWindow>& steps) {
  Stretches out;
  size_t at = 0;
  for (const StepWindow& step : steps) {
    while (at < pieces.size() && pieces[at].end <= step.start) ++at;
    Ns forward = -1, behind_backward = -1;
    bool said = false, any = false, backward_before = false;
    for (size_t i = at; i < pieces.size() && pieces[i].start < step.end; ++i) {
      const Piece& p = pieces[i];
      const Ns start = std::max(p.start, step.start), end = std::min(p.end, step.end);
      if (p.phase == Phase::backward) {
        if (any && start > forward) out.forward.push_back({forward, start});
        any = said = false;
        behind_backward = end;
        backward_before = true;
      } else if (p.phase == Phase::optimizer && !p.zero_grad) {
        if (backward_before && start > behind_backward)
          out.optimizer.push_back({behind_backward, start});
        any = said = backward_before = false;
      } else if (is_firm(p.phase)) {
        any = said = false;
      } else if (p.phase == Phase::forward) {
        if (!said) forward = start;
        said = any = true;
        backward_before = false;
      } else if (is_open(p) && p.covered && !any) {
        forward = start;
        any = true;
      }
    }
  }
  // Forward that follows an earlier backward in the step (accumulation) begins where that ended:
  // both lists may meet.
  make_union(out.forward);
  make_union(out.optimizer);
  return out;
}

}  // namespace

std::vector<Piece> main_timeline(const RankTrace& trace, const std::vector<StepWindow>& steps) {
  std::vector<Piece> pieces = Flattener().run(trace.main);
  // The training thread waits in backward() while the autograd thread works.
  const Intervals backward = backward_runs(trace, pieces);
  pieces = within(std::move(pieces), backward, [](Piece& p) {
    if (!is_open(p)) return;
    p.phase = Phase::backward;
    p.covered = true;
  });
  const Stretches stretches = find_stretches(pieces, steps);
  pieces = within(std::move(pieces), stretches.forward, [](Piece& p) {
    if (is_open(p)) p.phase = Phase::forward;
  });
  return within(std::move(pieces), stretches.optimizer, [](Piece& p) {
    if (is_open(p) && p.covered) p.phase = Phase::optimizer;
  });
}

}  // namespace firstwait
