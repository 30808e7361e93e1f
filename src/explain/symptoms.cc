#include "explain/symptoms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/numbers.h"
#include "base/text.h"
#include "explain/signals.h"

namespace firstwait {
namespace {

constexpr std::string_view kUtilisation[] = {"DCGM_FI_DEV_GPU_UTIL"};

// Mean over entities of each window.
std::optional<Symptom> mean_symptom(const std::vector<Reading>& readings, std::string signal,
                                    double scale, std::string unit) {
  if (readings.empty()) return std::nullopt;
  double before = 0, now = 0;
  size_t with_before = 0;
  for (const auto& r : readings) {
    now += r.now;
    if (r.has_before()) {
      before += r.before;
      ++with_before;
    }
  }
  Symptom s;
  s.signal = std::move(signal);
  s.unit = std::move(unit);
  s.now = scale * now / static_cast<double>(readings.size());
  if (with_before == readings.size()) s.before = scale * before / static_cast<double>(with_before);
  return s;
}

// steady: samples stay near their mean; bursts: they swing between busy and idle; idle: hardly ever
// busy.
std::string shape_of(const View& view, std::string_view metric) {
  const Ns from = view.attribution.current.from;
  double busy = 0, idle = 0, n = 0;
  for (const Series* s : view.series(metric)) {
    for (size_t i = 0; i < s->value.size(); ++i) {
      if (from != kNoTime && s->time[i] < from) continue;
      n += 1;
      busy += s->value[i] >= 80 ? 1 : 0;
      idle += s->value[i] <= 20 ? 1 : 0;
    }
  }
  if (n < 3) return "";
  if (idle / n > 0.9) return "idle";
  return busy / n > 0.1 && idle / n > 0.1 ? "bursts" : "steady";
}

double mean_of(const std::vector<double>& column, const StepTable& steps, Ns from, Ns to) {
  double sum = 0;
  size_t n = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    const Ns t = steps.start[i];
    if (std::isnan(column[i]) || (from != kNoTime && (t == kNoTime || t < from || t > to)))
      continue;
    sum += column[i];
    ++n;
  }
  return n == 0 ? kNaN : sum / static_cast<double>(n);
}

}  // namespace

std::vector<Symptom> symptoms(const View& view) {
  std::vector<Symptom> out;
  const auto& a = view.attribution;
  if (auto s = mean_symptom(gauge(view, kUtilisation[0]), "gpu_utilization", 0.01, "ratio")) {
    s->shape = shape_of(view, kUtilisation[0]);
    out.push_back(*s);
  }
  double busy = 0, weight = 0;
  for (const auto& t : a.traces) {
    if (!t.has_gpu || !(t.gpu_busy_fraction >= 0)) continue;
    busy += t.gpu_busy_fraction * t.steps;
    weight += t.steps;
  }
  if (weight > 0) out.push_back({"gpu_busy", "ratio", "", std::nullopt, busy / weight});
  if (auto s =
          mean_symptom(gauge(view, "DCGM_FI_DEV_FB_USED"), "gpu_memory_used", 1048576, "bytes"))
    out.push_back(*s);
  const auto& steps = view.evidence.steps;
  const double samples = mean_of(steps.samples, steps, a.current.from, a.current.to);
  if (samples > 0 && a.current_s > 0 && !a.ranks.ranks.empty()) {
    const double per_step = samples * static_cast<double>(a.ranks.ranks.size());
    Symptom s{"throughput", "samples/s", "", std::nullopt, per_step / a.current_s};
    if (a.baseline_s > 0) s.before = per_step / a.baseline_s;
    out.push_back(s);
  }
  if (!steps.loss.empty()) {
    const double now = mean_of(steps.loss, steps, a.current.from, a.current.to);
    if (now == now) out.push_back({"loss", "", "", std::nullopt, now});
  }
  return out;
}

Recovery recovery(const View& view) {
  Recovery r;
  const Event* last = nullptr;
  int64_t failed = 0;
  bool any = false;
  for (const auto* e : events(view, "checkpoint")) {
    const auto status = e->attribute("status");
    if (status == "failed") {
      ++failed;
      any = true;
      continue;
    }
    if (status.empty() && e->end == kNoTime) continue;  // nothing says that it was finished
    any = true;
    if (last == nullptr || e->start > last->start) last = e;
  }
  if (!any) return r;
  r.failed_saves = failed;
  const auto& steps = view.attribution.steps;
  if (last == nullptr || steps.size() == 0 || steps.start.back() == kNoTime) return r;
  if (const auto step = parse_int(last->attribute("step"))) {
    r.last_good_step = static_cast<int32_t>(*step);
  } else {
    const auto after = std::upper_bound(steps.start.begin(), steps.start.end(), last->start);
    if (after != steps.start.begin())
      r.last_good_step = steps.step[static_cast<size_t>(after - steps.start.begin()) - 1];
  }
  const Ns done = last->end == kNoTime ? last->start : last->end;
  const double hours =
      (static_cast<double>(steps.start.back() + steps.time.back()) - static_cast<double>(done)) /
      3.6e12;
  size_t gpus = 0;
  for (const auto& [rank, info] : view.evidence.ranks) gpus += info.gpu.empty() ? 0 : 1;
  if (hours > 0 && gpus > 0) r.gpu_hours_at_risk = hours * static_cast<double>(gpus);
  return r;
}

std::vector<SignalLane> lanes(const View& view, const std::vector<Finding>& findings) {
  std::vector<SignalLane> out;
  const auto& e = view.evidence;
  const auto add = [&](std::string_view metric, std::string_view entity, std::string title,
                       std::string unit, int step, std::optional<double> before,
                       std::optional<double> now, bool counter) {
    if (out.size() >= 8) return;
    const NameId id = e.names.find(metric);
    if (id == kNoName) return;
    for (const auto& s : e.series) {
      if (s.metric != id || (!entity.empty() && e.names[s.entity] != entity) || s.time.size() < 2)
        continue;
      SignalLane lane;
      lane.name = std::move(title);
      lane.entity = e.names[s.entity];
      lane.metric = metric;
      lane.unit = std::move(unit);
      lane.checklist_step = step;
      lane.before = before;
      lane.now = now;
      if (!counter) {
        lane.time = s.time;
        lane.value = s.value;
      } else {
        for (size_t i = 1; i < s.time.size(); ++i) {
          const double dt =
              (static_cast<double>(s.time[i]) - static_cast<double>(s.time[i - 1])) * 1e-9;
          if (!(dt > 0)) continue;
          lane.time.push_back(s.time[i]);
          lane.value.push_back(
              (s.value[i] >= s.value[i - 1] ? s.value[i] - s.value[i - 1] : s.value[i]) / dt);
        }
      }
      if (lane.time.size() >= 2) out.push_back(std::move(lane));
      return;
    }
  };
  add("DCGM_FI_DEV_GPU_UTIL", "", "GPU utilization", "percent", 1, std::nullopt, std::nullopt,
      false);
  for (const auto& f : findings)
    for (const auto& row : f.verdict.evidence)
      if (!row.metric.empty())
        add(row.metric, row.entity, row.text, row.unit, f.checklist_step, row.baseline, row.current,
            row.metric.ends_with("_total"));
  return out;
}

std::vector<Observation> observations(const View& view, const std::vector<Tested>& tested) {
  std::vector<Observation> out;
  const auto& a = view.attribution;
  for (const auto& o : a.offsets) {
    const bool slower = o.ratio >= 1;
    out.push_back(
        {fmt::format(
             "rank {} is {} {} than the median rank throughout: a standing offset, not a fault",
             o.rank, percent(std::abs(o.ratio - 1)), slower ? "slower" : "faster"),
         fmt::format("rank/{}", o.rank), known(o.seconds_per_step)});
  }
  // A supported cause that is the link of a deeper one was used there; what is certain but costs
  // nothing is told here.
  for (const auto& t : tested) {
    if (t.verdict.outcome != Outcome::supported || t.deeper == nullptr) continue;
    out.push_back({fmt::format("{} also holds and is a link of {}", t.hypothesis->id, t.deeper->id),
                   t.verdict.where.empty() ? "" : t.verdict.where.front(),
                   t.verdict.effect ? known(t.verdict.effect->seconds_per_step) : std::nullopt});
  }
  return out;
}

}  // namespace firstwait
