#include "attribute/trace/markers.h"

#include <map>
#include <string_view>

#include "model/step_times.h"

namespace firstwait {
namespace {

// Two intervals between three marks are the least that can be called repeating.
constexpr size_t kLeastMarks = 3;

void keep_disjoint(std::vector<StepWindow>& steps) {
  size_t out = 0;
  for (const StepWindow& s : steps) {
    if (s.end <= s.start || (out > 0 && s.start < steps[out - 1].end))
      continue;  // nested, or a copy
    steps[out++] = s;
  }
  steps.resize(out);
}

std::vector<StepWindow> profiler_steps(const RankTrace& trace) {
  std::vector<StepWindow> steps;
  for (const HostSpan& s : trace.main)
    if (s.name == TraceName::step) steps.push_back({s.step, s.start, s.end});
  keep_disjoint(steps);
  int32_t next = 0;
  for (StepWindow& s : steps) {
    if (s.step < 0) s.step = next;
    next = s.step + 1;
  }
  return steps;
}

std::string_view without_number(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name;
}

// Annotations of one iteration, all of one name but for a number at its end.
std::vector<StepWindow> iterations(const RankTrace& trace, const Names& names) {
  std::map<std::string_view, std::vector<StepWindow>> by_name;
  for (const HostSpan& s : trace.main)
    if (s.name == TraceName::iteration) {
      const std::string_view name = names[s.op];
      by_name[without_number(name)].push_back({step_number(name).value_or(-1), s.start, s.end});
    }
  // Of nested markers the outermost counts: the one that covers the most time.
  std::vector<StepWindow> best;
  Ns most = 0;
  for (auto& [name, steps] : by_name) {
    keep_disjoint(steps);
    if (steps.size() < kLeastMarks) continue;
    Ns total = 0;
    for (const StepWindow& s : steps) total += (s.end - s.start) / static_cast<Ns>(steps.size());
    if (total > most) {
      most = total;
      best = steps;
    }
  }
  bool numbered = !best.empty();
  for (size_t i = 0; i < best.size(); ++i)
    numbered = numbered && best[i].step >= 0 && (i == 0 || best[i].step > best[i - 1].step);
  if (!numbered)
    for (size_t i = 0; i < best.size(); ++i) best[i].step = static_cast<int32_t>(i);
  return best;
}

std::vector<StepWindow> between(const std::vector<Ns>& marks) {
  std::vector<StepWindow> steps;
  if (marks.size() < kLeastMarks) return steps;
  for (size_t i = 1; i < marks.size(); ++i)
    if (marks[i] > marks[i - 1])
      steps.push_back({static_cast<int32_t>(steps.size()), marks[i - 1], marks[i]});
  return steps;
}

// Jobs with several optimizers run each of them once a step: the one that ends last in a step is
// the mark.
std::vector<StepWindow> optimizer_ends(const RankTrace& trace) {
  std::map<NameId, std::vector<Ns>> ends;
  for (const HostSpan& s : trace.main)
    if (s.name == TraceName::optimizer) ends[s.op].push_back(s.end);
  const std::vector<Ns>* best = nullptr;
  for (const auto& [op, marks] : ends) {
    if (marks.size() < kLeastMarks) continue;
    if (best == nullptr || marks.size() < best->size() ||
        (marks.size() == best->size() && marks.back() > best->back()))
      best = &marks;
  }
  return best == nullptr ? std::vector<StepWindow>{} : between(*best);
}

std::vector<StepWindow> loader_starts(const RankTrace& trace) {
  std::vector<Ns> marks;
  Ns end = INT64_MIN;
  for (const HostSpan& s : trace.main) {
    if (s.phase != Phase::input_wait || s.start < end) continue;
    marks.push_back(s.start);
    end = s.end;
  }
  return between(marks);
}

// The profiler may stop within a step: one without the optimizer, when every step before had it,
// was cut.
void drop_cut_step(const RankTrace& trace, std::vector<StepWindow>& steps) {
  if (steps.size() < 2) return;
  std::vector<size_t> optimizers(steps.size(), 0);
  size_t at = 0;
  for (const HostSpan& s : trace.main) {
    if (s.name != TraceName::optimizer) continue;
    while (at < steps.size() && steps[at].end <= s.start) ++at;
    if (at == steps.size()) break;
    if (s.start >= steps[at].start) ++optimizers[at];
  }
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    if (optimizers[i] == 0) return;
  if (optimizers.back() == 0) steps.pop_back();
}

// What lies between a step and the next belongs to the first: the loop goes on there. Of steps that
// overlap (pipelined ones, or an operation that runs on behind its step) each lasts until the next
// begins.
void reach_next(std::vector<StepWindow>& steps) {
  for (StepWindow& s : steps) s.body_end = s.end;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const Ns gap = steps[i + 1].start - steps[i].end;
    if (steps[i + 1].step == int64_t{steps[i].step} + 1 &&
        gap <= std::max(kLongestPause, steps[i].end - steps[i].start))
      steps[i].end = steps[i + 1].start;
  }
}

// Rows that carry their step by themselves (spans of an evidence bundle).
std::vector<StepWindow> told_steps(const RankTrace& trace) {
  std::map<int32_t, StepWindow> by_step;
  for (const HostSpan& s : trace.main) {
    if (s.step < 0) continue;
    const auto [found, added] = by_step.try_emplace(s.step, StepWindow{s.step, s.start, s.end});
    found->second.start = std::min(found->second.start, s.start);
    found->second.end = std::max(found->second.end, s.end);
  }
  std::vector<StepWindow> steps;
  for (const auto& [step, window] : by_step) steps.push_back(window);
  std::sort(steps.begin(), steps.end(),
            [](const StepWindow& a, const StepWindow& b) { return a.start < b.start; });
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    steps[i].end = std::min(steps[i].end, steps[i + 1].start);
  return steps;
}

}  // namespace

std::vector<StepWindow> find_steps(const RankTrace& trace, const Names& names) {
  std::vector<StepWindow> steps =
      trace.saw(TraceName::step) ? profiler_steps(trace) : told_steps(trace);
  if (steps.empty()) steps = iterations(trace, names);
  if (!steps.empty()) {
    drop_cut_step(trace, steps);
  } else {
    steps = optimizer_ends(trace);
    if (steps.empty()) steps = loader_starts(trace);
  }
  reach_next(steps);
  std::erase_if(steps, [](const StepWindow& s) { return s.end <= s.start; });
  return steps;
}

}  // namespace firstwait
