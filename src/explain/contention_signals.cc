#include "explain/contention_signals.h"

#include <fmt/core.h>

#include <cmath>

namespace firstwait {

std::vector<Neighbour> neighbours_at_onset(const View& view, std::string_view resource) {
  std::vector<Neighbour> out;
  for (const auto* e : events(view, "neighbour_start")) {
    if (!at_onset(view, e->start)) continue;
    const auto named = e->attribute("resource");
    if (!named.empty() && named != resource) continue;
    Neighbour n;
    n.event = e;
    n.name = e->entity;
    n.kind = e->attribute("workload_kind");
    n.owner = e->attribute("owner");
    for (const auto& r : view.evidence.relations)
      if (n.owner.empty() && r.from == e->entity && r.kind == "owned_by") n.owner = r.to;
    if (!n.owner.empty() && !n.owner.starts_with("owner/")) n.owner.insert(0, "owner/");
    out.push_back(std::move(n));
  }
  return out;
}

bool neighbours_watched(const View& view) {
  return !events(view, "neighbour_start").empty() || !events(view, "neighbour_end").empty();
}

std::string weigh_neighbours(Weighing& w, const View& view, std::string_view resource) {
  const auto found = neighbours_at_onset(view, resource);
  if (found.empty()) {
    if (neighbours_watched(view) && view.attribution.onset)
      w.contradicts(kPositive, "no neighbour started at the onset",
                    fact("neighbours that started at the onset", "event.neighbour_start", "", 0,
                         "events", false));
    return "";
  }
  const auto& n = found.front();
  w.hints(coincidence_llr(view), fact(fmt::format("{} started at the onset", n.name),
                                      "event.neighbour_start", n.name, 1, "events", true));
  w.where(n.name).where(n.owner);
  return n.kind.empty() ? n.name : fmt::format("{} ({})", n.name, n.kind);
}

bool own_demand_unchanged(const View& view) {
  const auto& t = view.evidence.steps;
  const auto& a = view.attribution;
  if (a.baseline.empty || a.current.empty || a.steps.size() == 0) return true;
  const auto demand = [&](const Window& w) {
    double sum = 0, n = 0;
    if (w.last >= a.steps.size()) return kNaN;
    const int32_t first = a.steps.step[w.first], last = a.steps.step[w.last];
    for (size_t i = 0; i < t.size(); ++i) {
      const double b = StepTable::number(t.bytes, i), s = StepTable::number(t.samples, i);
      const double v = b == b ? b : s;
      if (t.step[i] < first || t.step[i] > last || !(v == v)) continue;
      sum += v;
      n += 1;
    }
    return n > 0 ? sum / n : kNaN;
  };
  const double before = demand(a.baseline), now = demand(a.current);
  return !(before > 0) || !(now > 1.1 * before);
}

}  // namespace firstwait
