#include "explain/change_signals.h"

#include <fmt/core.h>

#include <algorithm>

namespace firstwait {
namespace {

// Whether the phases that such a change acts on are those that grew.
bool grew_there(const View& view, std::initializer_list<Phase> direct) {
  double there = 0, all = 0;
  for (const auto& r : view.attribution.ledger) {
    if (!r.before) continue;
    const double growth = std::max(0.0, r.seconds - *r.before);
    all += growth;
    if (r.phase != Phase::unexplained &&
        std::find(direct.begin(), direct.end(), r.phase) != direct.end())
      there += growth;
  }
  return there > 0.5 * all && all > 0;
}

std::string event_text(const Event& e) {
  std::string out = e.kind;
  std::replace(out.begin(), out.end(), '_', ' ');
  for (const auto& [k, v] : e.attributes) {
    out += fmt::format(", {} {}", k, v);
    if (out.size() > 120) break;
  }
  return out;
}

bool excluded(std::string_view key, const ChangeKind& kind) {
  return std::none_of(kind.settings.begin(), kind.settings.end(),
                      [key](std::string_view p) { return key.starts_with(p); });
}

}  // namespace

Verdict test_change(const View& view, const ChangeKind& kind) {
  const auto& a = view.attribution;
  if (!a.onset || a.onset->time == kNoTime) {
    if (a.steps.size() > 0 && a.pattern.kind != PatternKind::step &&
        a.pattern.kind != PatternKind::drift && !a.onset) {
      Weighing w;
      w.contradicts(kStrong, fmt::format("no onset in {} steps", a.steps.size()),
                    fact("onset", "pattern", "", kNaN, "", false));
      return std::move(w).verdict("", {});
    }
    return untested({"an onset with its time, and events or settings before and after it"});
  }
  if (a.slowdown > 0 && a.slowdown < 1) return untested({"a slowdown: the steps became faster"});
  Weighing w;
  std::string because;
  size_t watched = 0;
  for (const auto k : kind.events) {
    for (const auto* e : events(view, k)) {
      ++watched;
      if (!at_onset(view, e->start) || w.decided()) continue;
      w.supports(coincidence_llr(view), fact(event_text(*e), fmt::format("event.{}", e->kind),
                                             e->entity, 1, "events", true));
      w.where(e->entity);
      w.link(fmt::format("{} changed", kind.noun), e->entity, event_text(*e));
      because = fmt::format("{} changed at the onset ({})", kind.noun, event_text(*e));
    }
  }
  for (const auto& c : setting_changes(view, "")) {
    if (excluded(c.to->key, kind)) continue;
    ++watched;
    if (!at_onset(view, c.to->time)) continue;
    const auto text = fmt::format("{} went from {} to {}", c.to->key, c.from->value, c.to->value);
    auto e = fact(text, c.to->key, c.to->entity, kNaN, "", true);
    if (w.decided()) {
      w.hints(0, std::move(e));
      continue;
    }
    w.supports(coincidence_llr(view), std::move(e));
    w.where(c.to->entity);
    w.link(fmt::format("{} changed", kind.noun), c.to->entity, text);
    because = text;
  }
  if (!w.decided()) {
    // Settings that were read on both sides of the onset and did not change say that nothing did.
    if (watched == 0) return untested({"events and settings from before and after the onset"});
    w.contradicts(kPositive, fmt::format("0 of {} changes fall on the onset", watched),
                  fact(fmt::format("changes of {}", kind.noun), "events", "",
                       static_cast<double>(watched), "changes", false));
    return std::move(w).verdict("", {});
  }
  // Time alone is a coincidence until the change acts on what grew.
  if (grew_there(view, kind.direct))
    w.hints(kPositive, fact("it acts on the phase that grew", "ledger", "", kNaN, "", true));
  auto v = std::move(w).verdict(because, {});
  if (v.outcome == Outcome::supported && a.current_s > a.baseline_s && a.baseline_s > 0)
    v.effect = Effect{a.current_s - a.baseline_s, {kNaN, a.current_s - a.baseline_s}};
  return v;
}

}  // namespace firstwait
