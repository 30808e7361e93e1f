#include "explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/numbers.h"
#include "base/saturate.h"
#include "explain/between_steps.h"
#include "explain/checklist.h"
#include "explain/gain.h"
#include "explain/headline.h"
#include "explain/ranking.h"
#include "explain/signals.h"
#include "explain/symptoms.h"
#include "explain/weigh.h"

namespace firstwait {
namespace {

// Below this a supported cause is told among the rivals, not as a finding: unknown is four times as
// likely.
constexpr double kLeastConfidence = 0.2;
// A finding whose cost is under 5 % of the step comes after those that matter: the replay itself
// may err by as much.
constexpr double kMaterialShare = 0.05;

std::string owner_of(const View& view, const std::vector<std::string>& where) {
  for (const auto& place : where) {
    for (const auto& e : view.evidence.events)
      if (e.kind == "neighbour_start" && e.entity == place && !e.attribute("owner").empty())
        return std::string(e.attribute("owner"));
    for (const auto& r : view.evidence.relations)
      if (r.from == place && r.kind == "owned_by")
        return r.to.starts_with("owner/") ? r.to.substr(6) : r.to;
    for (const auto& e : view.evidence.entities)
      if (e.id == place)
        for (const auto& [key, value] : e.attributes)
          if (key == "owner") return value;
  }
  return view.evidence.job.owner;
}

std::string scope_of(const std::vector<std::string>& where) {
  static constexpr std::string_view kScopes[] = {"rank", "host",    "rack",
                                                 "job",  "project", "cluster"};
  for (const auto& place : where) {
    const std::string_view kind = std::string_view(place).substr(0, place.find('/'));
    if (kind == "gpu" || kind == "process") return "rank";
    if (kind == "nic" || kind == "numa" || kind == "mount") return "host";
    if (kind == "storage" || kind == "switch") return "cluster";
    for (const auto scope : kScopes)
      if (kind == scope) return std::string(scope);
  }
  return "job";
}

size_t gpus_of(const View& view) {
  size_t gpus = 0;
  for (const auto& [rank, info] : view.evidence.ranks) gpus += info.gpu.empty() ? 0 : 1;
  if (gpus == 0)
    for (const auto& t : view.attribution.traces) gpus += t.has_gpu ? 1 : 0;
  return gpus;
}

void fill_cost(const View& view, const Tested& t, Finding& f) {
  const auto& a = view.attribution;
  if (!t.verdict.effect || !(t.verdict.effect->seconds_per_step >= 0) || !(a.current_s > 0)) return;
  f.cost_share = std::min(1.0, t.verdict.effect->seconds_per_step / step_with(view, t));
  const size_t gpus = gpus_of(view);
  if (gpus == 0 || a.current.empty) return;
  const double steps = static_cast<double>(a.current.last - a.current.first + 1);
  f.cost_gpu_hours = t.verdict.effect->seconds_per_step * steps * static_cast<double>(gpus) / 3600;
}

std::string cell_words(Phase phase) {
  switch (phase) {
    case Phase::input_wait:
      return "Waits for input";
    case Phase::collective:
      return "Waits in collectives";
    case Phase::p2p:
      return "Waits for the neighbouring stage";
    case Phase::h2d:
      return "Copies to the device";
    case Phase::host:
      return "Host work between launches";
    case Phase::unexplained:
      return "Time that no record covers";
    default:
      return "Time in " + std::string(phase_words(phase));
  }
}

// From symptom to origin: utilization, the phase that waits, links of shallow causes, the cause's
// own links.
std::vector<ChainLink> chain_of(const View& view, const std::vector<Tested>& tested,
                                const Tested& t) {
  std::vector<ChainLink> chain;
  const auto& a = view.attribution;
  for (const auto& s : symptoms(view)) {
    if (s.signal != "gpu_utilization" && s.signal != "gpu_busy") continue;
    if (!s.now) break;
    chain.push_back(
        {fmt::format("{} {} busy", gpus_of(view) == 1 ? "GPU" : "GPUs", percent(*s.now)), "",
         s.before ? change_text(*s.before, *s.now, "ratio") : ""});
    break;
  }
  if (t.cell && *t.cell != Phase::unexplained) {
    const auto* row = ledger_row(view, *t.cell);
    // A phase that takes far less than the cause costs is not how it shows.
    const bool shows = row != nullptr && !(t.verdict.effect &&
                                           row->seconds < 0.5 * t.verdict.effect->seconds_per_step);
    if (shows)
      chain.push_back({cell_words(*t.cell), "in each step",
                       row->before
                           ? change_text(*row->before, row->seconds, "s")
                           : fmt::format("{} of {}", seconds(row->seconds), seconds(a.current_s))});
  }
  for (const auto& shallow : tested)
    if (shallow.deeper == t.hypothesis && !shallow.hypothesis->id.starts_with("change."))
      chain.insert(chain.end(), shallow.verdict.chain.begin(), shallow.verdict.chain.end());
  chain.insert(chain.end(), t.verdict.chain.begin(), t.verdict.chain.end());
  return chain;
}

// Its phase was recorded after the onset only: whether it grew then is not known.
bool only_seen_now(const View& view, const Tested& t) {
  const LedgerRow* row = t.cell ? ledger_row(view, *t.cell) : nullptr;
  return row != nullptr && !row->before && !view.attribution.baseline.empty;
}

// The ranks that carry the phase by which a cause shows, where it names none itself. In collectives
// those that wait are carried along.
void name_carriers(const View& view, const Tested& t, std::vector<std::string>& where) {
  constexpr size_t kNamed = 8;
  if (!t.cell || *t.cell == Phase::collective || *t.cell == Phase::p2p) return;
  const LedgerRow* row = ledger_row(view, *t.cell);
  if (row == nullptr || row->ranks.size() > kNamed) return;
  const auto named = where;
  for (const auto& place : named)
    if (place.starts_with("rank/") || place.starts_with("gpu/") || place.starts_with("process/"))
      return;
  const auto there = [&](const std::string& host) {
    return named.empty() || std::find(named.begin(), named.end(), host) != named.end();
  };
  for (const int32_t rank : row->ranks)
    if (there(host_entity(view, rank))) where.push_back(fmt::format("rank/{}", rank));
}

Finding finding_of(const View& view, const std::vector<Tested>& tested, const Tested& t) {
  Finding f;
  f.cause = t.hypothesis->id;
  f.title = t.verdict.because.empty() ? std::string(t.hypothesis->claim) : t.verdict.because;
  f.confidence = t.confidence;
  f.verdict = t.verdict;
  f.verdict.chain = chain_of(view, tested, t);
  if (!f.verdict.since && !f.verdict.throughout && !only_seen_now(view, t))
    f.verdict.since = view.attribution.onset;
  for (const auto& shallow : tested) {
    if (shallow.deeper != t.hypothesis || !shallow.hypothesis->id.starts_with("change.")) continue;
    for (const auto& row : shallow.verdict.evidence) f.verdict.evidence.push_back(row);
  }
  name_carriers(view, t, f.verdict.where);
  f.scope = scope_of(f.verdict.where);
  if (f.verdict.where.empty() && view.attribution.ranks.ranks.size() == 1) {
    const int32_t rank = view.attribution.ranks.ranks.front();  // the job is this rank
    f.verdict.where.push_back(fmt::format("rank/{}", rank));
    if (std::string host = host_entity(view, rank); !host.empty())
      f.verdict.where.push_back(std::move(host));
  }
  f.checklist_step = t.hypothesis->checklist_step;
  f.owner = owner_of(view, t.verdict.where);
  fill_cost(view, t, f);
  f.actions = actions_for(view, t);
  return f;
}

void fill_findings(const View& view, const std::vector<Tested>& tested, Report& r) {
  for (const auto& t : tested)
    if (t.verdict.outcome == Outcome::supported && t.deeper == nullptr &&
        t.confidence >= kLeastConfidence)
      r.findings.push_back(finding_of(view, tested, t));
  const auto material = [&](const Finding& f) {
    if (f.verdict.throughout && view.attribution.onset) return false;
    return !f.cost_share || *f.cost_share >= kMaterialShare;
  };
  std::stable_sort(r.findings.begin(), r.findings.end(), [&](const Finding& x, const Finding& y) {
    if (material(x) != material(y)) return material(x);
    if (x.confidence != y.confidence) return x.confidence > y.confidence;
    return x.cost_share.value_or(0) > y.cost_share.value_or(0);
  });
}

// How near a cause is to the phase that waits: the fewer other phases it could account for, the
// nearer. Neighbours and changes lie behind other causes and come after those.
constexpr size_t kFar = 1000;
size_t closeness(const Hypothesis& h, const LedgerRow* waits) {
  const bool behind = h.id.starts_with("contention.") || h.id.starts_with("change.");
  if (waits == nullptr || waits->phase == Phase::unexplained) return behind ? 1 : 0;
  const bool accounts =
      std::find(h.accounts_for.begin(), h.accounts_for.end(), waits->phase) != h.accounts_for.end();
  return (accounts ? h.accounts_for.size() : kFar) + (behind ? kFar / 2 : 0);
}

void fill_rivals(const View& view, const std::vector<Tested>& tested, Report& r) {
  for (const auto& t : tested) {
    if (t.verdict.outcome == Outcome::refuted) {
      r.ruled_out.push_back({std::string(t.hypothesis->id), t.verdict.reason, t.verdict.evidence});
    } else if (t.verdict.outcome == Outcome::untested) {
      double excess = 0;
      for (const Phase p : t.hypothesis->accounts_for) excess += phase_excess(view, p);
      r.untested.push_back({std::string(t.hypothesis->id), t.verdict.needs,
                            excess > kMaterialShare * view.attribution.current_s});
    }
  }
  const LedgerRow* waits = waiting_phase(view.attribution);
  std::map<std::string_view, size_t> place;
  for (const auto& t : tested) place[t.hypothesis->id] = closeness(*t.hypothesis, waits);
  std::stable_sort(r.untested.begin(), r.untested.end(), [&](const Untested& x, const Untested& y) {
    if (x.relevant != y.relevant) return x.relevant;
    return place[x.cause] < place[y.cause];
  });
}

// What would decide among the causes of the phase that waits comes first.
std::vector<Untested> worth_measuring(const View& view, const std::vector<Tested>& tested,
                                      const std::vector<Untested>& untested) {
  const LedgerRow* waits = waiting_phase(view.attribution);
  std::vector<Untested> out;
  for (const auto& u : untested)
    for (const auto& t : tested)
      if (u.relevant && t.hypothesis->id == u.cause && closeness(*t.hypothesis, waits) < kFar)
        out.push_back(u);
  return out.empty() ? untested : out;
}

// What a person would call what was read: the one file, the folder that holds them all; empty when
// there is none.
std::string label_of(const std::vector<Source>& sources) {
  if (sources.empty()) return {};
  const auto parent = [](std::string_view path) {
    const size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  };
  std::string_view common = sources.front().path;
  if (sources.size() > 1) common = parent(common);
  for (const auto& s : sources)
    while (!common.empty() &&
           !(s.path == common || (s.path.starts_with(common) && s.path[common.size()] == '/')))
      common = parent(common);
  if (const size_t slash = common.rfind('/'); slash != std::string_view::npos)
    common.remove_prefix(slash + 1);
  return common == "." || common == ".." ? std::string() : std::string(common);
}

void fill_frame(const View& view, Report& r) {
  const auto& e = view.evidence;
  const auto& a = view.attribution;
  r.job = e.job;
  std::set<std::string> hosts;
  for (const auto& [rank, info] : e.ranks)
    if (!info.host.empty()) hosts.insert(info.host);
  r.hosts.assign(hosts.begin(), hosts.end());
  r.rank_ids = a.ranks.ranks;
  if (r.rank_ids.empty())
    for (const auto& [rank, info] : e.ranks) r.rank_ids.push_back(rank);
  for (const int32_t rank : r.rank_ids) {
    const auto it = e.ranks.find(rank);
    r.rank_hosts.push_back(it == e.ranks.end() ? "" : it->second.host);
  }
  bool relative = false;
  for (const auto& [rank, info] : e.ranks) relative = relative || info.relative_time;
  const auto& steps = a.steps;
  if (steps.size() > 0 && steps.start.front() != kNoTime && steps.start.back() != kNoTime) {
    // Not the first and the last step: a damaged record may run backwards.
    Ns start = steps.start.front(), end = start;
    for (size_t c = 0; c < steps.size(); ++c) {
      if (steps.start[c] == kNoTime) continue;
      start = std::min(start, steps.start[c]);
      end = std::max(end, sat_add(steps.start[c], steps.time[c]));
    }
    r.span_s = (static_cast<double>(end) - static_cast<double>(start)) * 1e-9;
    if (!relative) {
      r.start = start;
      r.end = end;
    }
  }
  for (const auto& event : e.events)
    if (r.start == kNoTime || (event.start >= r.start && event.start <= r.end))
      r.events.push_back(event);
  r.sources = e.sources;
  r.label = label_of(e.sources);
  r.input_health = e.health.entries();
}

// What happens between steps must be seen before any single signal can say why it takes long.
void measure_between(Report& r) {
  constexpr std::string_view kDecides[] = {"workload.checkpoint_stall", "workload.evaluation",
                                           "input.loading_in_main_thread"};
  NextMeasurement m{
      "what runs between steps: a profiler trace over several steps, or spans or events of "
      "loading, "
      "saves and evaluations",
      {}};
  for (const auto& u : r.untested)
    if (std::find(std::begin(kDecides), std::end(kDecides), u.cause) != std::end(kDecides))
      m.decides.push_back(u.cause);
  r.next_measurements.insert(r.next_measurements.begin(), std::move(m));
}

// Relative step times are no seconds: what is counted per step has no unit then.
void drop_units_of_steps(Report& r) {
  for (auto& finding : r.findings)
    for (auto& row : finding.verdict.evidence)
      if (row.unit == "s/step") row.unit.clear();
}

}  // namespace

Report explain(const Evidence& evidence, Attribution attribution) {
  Report r;
  r.attribution = std::move(attribution);
  const View view{evidence, r.attribution};
  auto tested = test_all(view);
  rank(view, doubt_from_health(evidence), tested);
  fill_frame(view, r);
  fill_findings(view, tested, r);
  fill_rivals(view, tested, r);
  if (evidence.job.unitless) drop_units_of_steps(r);
  r.checklist = checklist(view, tested, r.findings);
  // Phases of which nearly nothing is known are none.
  const bool dark =
      phase_seconds(view, Phase::unexplained) >= (1 - kMaterialShare) * r.attribution.current_s;
  const EvidenceLevel level =
      dark ? std::min(r.attribution.level, EvidenceLevel::steps) : r.attribution.level;
  r.next_measurements = next_measurements(level, worth_measuring(view, tested, r.untested));
  const double between = between_steps_s(view);
  if (between >= kMaterialShare * r.attribution.current_s) measure_between(r);
  r.symptoms = symptoms(view);
  r.recovery = recovery(view);
  r.observations = observations(view, tested);
  r.lanes = lanes(view, r.findings);
  headline(r, between);
  if (between >= kMaterialShare * r.attribution.current_s &&
      r.headline.find("between") == std::string::npos)
    r.observations.push_back(
        {fmt::format(
             "{} of the time lies between steps, and nothing recorded says what happens there",
             percent(between / r.attribution.current_s)),
         "", between});
  return r;
}

}  // namespace firstwait
