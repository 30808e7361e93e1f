#include "explain/input_signals.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"

namespace firstwait {

bool known_now(const Reading& r) { return r.now == r.now; }

Reading total_reading(const std::vector<Reading>& readings) {
  Reading out;
  if (readings.empty()) return out;
  out.before = out.now = out.now_max = 0;
  for (const auto& r : readings) {
    out.before += r.before;
    out.now += r.now;
    out.now_max += r.now_max;
  }
  return out;
}

double ranks_on(const View& view, std::string_view host) {
  const auto name = host.starts_with("host/") ? host.substr(5) : host;
  return std::max(static_cast<double>(view.ranks_on(name).size()), 1.0);
}

namespace {

std::optional<int32_t> rank_of(std::string_view entity) {
  if (!entity.starts_with("rank/")) return std::nullopt;
  const auto n = parse_int(entity.substr(5));
  return n && *n >= 0 && *n <= INT32_MAX ? std::optional(static_cast<int32_t>(*n)) : std::nullopt;
}

std::string host_of(const View& view, const std::string& entity) {
  if (entity.starts_with("host/")) return entity;
  if (const auto r = rank_of(entity)) return host_entity(view, *r);
  if (entity.starts_with("process/") || entity.starts_with("container/")) {
    const auto slash = entity.find('/'), colon = entity.find(':');
    if (colon != std::string::npos) return "host/" + entity.substr(slash + 1, colon - slash - 1);
  }
  return "";
}

// The number of CPUs that a setting grants.
std::optional<double> granted(const Setting& s) {
  if (s.key == "cpu.affinity" || s.key == "cpu.cpuset") {
    const auto n = cpu_list_size(s.value);
    return n && *n > 0 ? std::optional<double>(*n) : std::nullopt;
  }
  const auto v = parse_double(s.value);
  return v && *v > 0 ? v : std::nullopt;
}

struct Limit {
  double cpus = kNaN;
  std::string key, value;
};

std::map<std::string, Limit> limits(const View& view) {
  std::map<std::string, Limit> out;
  const auto add = [&](const std::string& entity, double cpus, std::string key, std::string value) {
    auto& l = out[entity];
    if (l.cpus <= cpus) return;
    l = {cpus, std::move(key), std::move(value)};
  };
  for (const auto key : {"cpu.affinity", "cpu.cpuset", "cpu.quota_cores", "slurm.cpus_per_task"})
    for (const auto* s : settings(view, key))
      if (const auto n = granted(*s)) add(s->entity, *n, s->key, s->value);
  for (const auto& r : gauge(view, "firstwait_cgroup_cpu_quota_cores"))
    if (r.now > 0) add(r.entity, r.now, "firstwait_cgroup_cpu_quota_cores", three_digits(r.now));
  return out;
}

std::string_view label(const Reading& r, std::string_view key) {
  for (const auto& [k, v] : r.labels)
    if (k == key) return v;
  return {};
}

std::map<std::string, double> host_cpus(const View& view) {
  std::map<std::string, double> out;
  std::map<std::string, std::set<std::string>> seen;
  for (const auto& r : rate(view, "node_cpu_seconds_total"))
    seen[r.entity].insert(std::string(label(r, "cpu")));
  for (const auto& [host, cpus] : seen)
    if (!(cpus.size() == 1 && cpus.begin()->empty())) out[host] = static_cast<double>(cpus.size());
  for (const auto* s : settings(view, "cpu.count"))
    if (const auto n = granted(*s))
      out[host_of(view, s->entity).empty() ? s->entity : host_of(view, s->entity)] = *n;
  return out;
}

std::vector<Reading> host_busy(const View& view) {
  auto all = rate(view, "node_cpu_seconds_total");
  std::erase_if(all, [](const Reading& r) {
    const auto mode = label(r, "mode");
    return mode == "idle" || mode == "iowait" || mode == "steal" || mode == "guest" ||
           mode == "guest_nice";
  });
  return sum_by_entity(all);
}

using SetOfCpus = std::array<std::string, 3>;  // host, key, value

// Ranks of a host that are confined to the same set of CPUs share it; a quota is each one's own.
std::map<SetOfCpus, std::set<int32_t>> sharing(const View& view,
                                               const std::map<std::string, Limit>& confined) {
  std::map<SetOfCpus, std::set<int32_t>> out;
  for (const auto& [entity, limit] : confined) {
    const auto rank = rank_of(entity);
    const auto host = host_of(view, entity);
    if (rank && !host.empty() && (limit.key == "cpu.affinity" || limit.key == "cpu.cpuset"))
      out[{host, limit.key, limit.value}].insert(*rank);
  }
  return out;
}

// CPUs that the job's processes burn, of the ranks and hosts that they belong to.
class CpuUse {
 public:
  explicit CpuUse(const View& view)
      : busy_(host_busy(view)),
        waiting_(sum_by_entity(rate(view, "node_pressure_cpu_waiting_seconds_total"))) {
    for (auto& r : rate(view, "firstwait_process_cpu_seconds_total")) {
      if (label(r, "role") == "other") continue;
      const auto told = parse_int(label(r, "rank"));
      auto rank = rank_of(r.entity);
      if (!rank && told && *told >= 0 && *told <= INT32_MAX) rank = static_cast<int32_t>(*told);
      if (rank) by_rank_[*rank].push_back(r);
      const auto host = host_of(view, r.entity);
      if (host.empty()) by_place_[r.entity].push_back(r);
      by_place_[host].push_back(std::move(r));
    }
  }

  void fill(CpuRoom& room) const {
    std::vector<Reading> own;
    const auto add = [&own](const auto& map, const auto& key) {
      if (const auto it = map.find(key); it != map.end())
        own.insert(own.end(), it->second.begin(), it->second.end());
    };
    for (const int32_t rank : room.ranks) add(by_rank_, rank);
    // All that runs on the host is the room of what is confined there without a rank.
    if (room.ranks.empty()) add(by_place_, room.host);
    if (room.ranks.empty() && !room.host.empty() && room.host != room.entity)
      add(by_place_, room.entity);
    room.used = total_reading(own);
    if (const auto* b = of_entity(busy_, room.host)) room.host_busy = *b;
    if (const auto* w = of_entity(waiting_, room.host)) room.waiting = *w;
  }

 private:
  std::vector<Reading> busy_, waiting_;
  std::map<int32_t, std::vector<Reading>> by_rank_;
  std::map<std::string, std::vector<Reading>> by_place_;
};

}  // namespace

std::vector<CpuRoom> cpu_rooms(const View& view) {
  const auto confined = limits(view);
  const auto sizes = host_cpus(view);
  const auto shared = sharing(view, confined);
  const CpuUse use(view);
  std::set<std::string> entities;
  for (const auto& [rank, info] : view.evidence.ranks)
    if (!info.host.empty()) entities.insert("host/" + info.host);
  for (const auto& [entity, limit] : confined) entities.insert(entity);
  for (const auto& [entity, cpus] : sizes) entities.insert(entity);
  std::vector<CpuRoom> out;
  for (const auto& entity : entities) {
    CpuRoom room;
    room.entity = entity;
    room.host = host_of(view, entity);
    // A single host that the settings do not name: its size is told without a place.
    if (room.host.empty() && sizes.size() == 1) room.host = sizes.begin()->first;
    if (const auto it = sizes.find(room.host); it != sizes.end()) room.host_cpus = it->second;
    room.allowed = room.host_cpus;
    if (const auto it = confined.find(entity); it != confined.end()) {
      if (!(it->second.cpus >= room.host_cpus)) {
        room.allowed = it->second.cpus;
        room.limit = it->second.key;
        room.limit_value = it->second.value;
      }
    }
    if (const auto own = rank_of(entity)) {
      room.ranks = {*own};
      const auto limit = confined.find(entity);
      const auto same =
          limit == confined.end()
              ? shared.end()
              : shared.find({host_of(view, entity), limit->second.key, limit->second.value});
      if (same != shared.end()) room.ranks = same->second;
    }
    use.fill(room);
    if (room.allowed > 0) out.push_back(std::move(room));
  }
  return out;
}

LoaderFacts loader_facts(const View& view) {
  LoaderFacts f;
  const auto& t = view.evidence.steps;
  const auto& a = view.attribution;
  int32_t first = INT32_MIN, last = INT32_MAX;
  if (!a.current.empty && a.current.last < a.steps.size()) {
    first = a.steps.step[a.current.first];
    last = a.steps.step[a.current.last];
  }
  // Where some ranks carry the wait, what the others' workers do would only hide why.
  const LedgerRow* wait = ledger_row(view, Phase::input_wait);
  const auto carries = [&](int32_t rank) {
    return wait == nullptr || wait->ranks.empty() ||
           std::find(wait->ranks.begin(), wait->ranks.end(), rank) != wait->ranks.end();
  };
  double work = 0, reading = 0, room = 0, workers = 0, queued = 0;
  size_t rows = 0, with_workers = 0, with_queue = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    if (t.step[i] < first || t.step[i] > last || !carries(t.rank[i])) continue;
    double row_work = 0;
    bool any = false;
    for (size_t w = 0; w < kLoaderWorks; ++w) {
      const Ns d = t.loader_time(i, static_cast<LoaderWork>(w));
      if (d == kNoDuration) continue;
      any = true;
      row_work += static_cast<double>(d) * 1e-9;
      if (static_cast<LoaderWork>(w) == LoaderWork::fetch) reading += static_cast<double>(d) * 1e-9;
    }
    const double n = StepTable::number(t.loader_workers, i),
                 q = StepTable::number(t.loader_queued, i);
    if (n == n) {
      workers += n;
      ++with_workers;
    }
    if (q == q) {
      queued += q;
      ++with_queue;
    }
    if (!any) continue;
    ++rows;
    work += row_work;
    if (n > 0) room += n * static_cast<double>(t.duration[i]) * 1e-9;
  }
  if (with_workers > 0) f.workers = workers / static_cast<double>(with_workers);
  if (with_queue > 0) f.queued = queued / static_cast<double>(with_queue);
  if (rows > 0 && work > 0) {
    f.work_s = work / static_cast<double>(rows);
    f.reading_share = reading / work;
    f.preparing_share = 1 - f.reading_share;
    if (room > 0) f.busy = work / room;
  }
  return f;
}

void weigh_blocked_workers(Weighing& w, const View& view, const Stake& stake) {
  if (stake.phase != Phase::input_wait) return;
  const LoaderFacts loader = loader_facts(view);
  // Where batches lie ready the training thread waits for something else than the workers.
  if (!(loader.reading_share > 0.5) || loader.queued >= 1) return;
  w.contradicts(
      kVeryStrong,
      fmt::format("{} of the workers' time is waiting for data, not for a CPU",
                  percent(loader.reading_share)),
      fact("workers wait for data", "loader.fetch", "", loader.reading_share, "ratio", false));
}

std::optional<Reading> more_threads(const View& view) {
  const Reading all = total_reading(gauge(view, "firstwait_process_threads"));
  if (!all.has_before() || !(all.now >= 2 * all.before) || !(all.before > 0)) return std::nullopt;
  return all;
}

std::optional<double> loader_workers(const View& view) {
  if (const auto n = setting_number(view, "loader.num_workers")) return n;
  if (!settings(view, "loader.num_workers").empty()) return std::nullopt;
  const double told = loader_facts(view).workers;
  if (told == told) return told;
  const auto& traces = view.attribution.traces;
  if (!traces.empty() && std::all_of(traces.begin(), traces.end(), [](const TraceFacts& x) {
        return x.loader_in_main_thread && !x.loader_workers_seen;
      }))
    return 0.0;
  return std::nullopt;
}

}  // namespace firstwait
