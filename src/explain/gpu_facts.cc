#include "explain/gpu_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace firstwait {
namespace {

// DCGM's old and new spellings of one field.
std::vector<Reading> first_gauge(const View& view, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    auto readings = mean_by_entity(gauge(view, name));
    if (!readings.empty()) return readings;
  }
  return {};
}

double leading_number(std::string_view text) {
  text = trim(text);
  size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.'))
    ++end;
  return parse_double(text.substr(0, end)).value_or(kNaN);
}

// Values of GPUs by model, and the median of a GPU's peers: those of its model without itself.
class Peers {
 public:
  void add(const std::string& model, double value) {
    if (value == value) by_model_[model].push_back(value);
  }
  void sort() {
    for (auto& [model, values] : by_model_) std::sort(values.begin(), values.end());
  }
  // `own`: the GPU's own value, if it was added; else NaN.
  double median_without(const std::string& model, double own) const {
    const auto it = by_model_.find(model);
    if (it == by_model_.end()) return kNaN;
    const auto& v = it->second;
    const size_t skip =
        own == own ? static_cast<size_t>(std::lower_bound(v.begin(), v.end(), own) - v.begin())
                   : v.size();
    const size_t n = v.size() - (skip < v.size() ? 1 : 0);
    if (n == 0) return kNaN;
    const auto at = [&](size_t i) { return v[i < skip ? i : i + 1]; };
    return n % 2 == 1 ? at(n / 2) : 0.5 * (at(n / 2 - 1) + at(n / 2));
  }

 private:
  std::map<std::string, std::vector<double>> by_model_;
};

void compare_with_peers(std::vector<Gpu>& all, const GpuNumbers& default_limit) {
  Peers clocks, limits;
  for (const auto& g : all) {
    if (g.under_load == true) clocks.add(g.model, g.clock_mhz.now);
    limits.add(g.model, g.power_limit_w);
  }
  clocks.sort();
  limits.sort();
  for (auto& g : all) {
    const double usual =
        clocks.median_without(g.model, g.under_load == true ? g.clock_mhz.now : kNaN);
    g.normal_clock_mhz = g.clock_mhz.has_before() ? g.clock_mhz.before
                         : usual == usual         ? usual
                                                  : g.clock_max_mhz;
    const double board = default_limit.of(g.entity);
    g.normal_limit_w = board > 0 ? board : limits.median_without(g.model, g.power_limit_w);
  }
}

}  // namespace

GpuNumbers::GpuNumbers(const View& view, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    for (const auto& r : mean_by_entity(gauge(view, name))) numbers_.try_emplace(r.entity, r.now);
    for (const auto* s : settings(view, name))
      numbers_.try_emplace(s->entity, leading_number(s->value));
  }
}

double GpuNumbers::of(const std::string& gpu) const {
  const auto it = numbers_.find(gpu);
  return it == numbers_.end() ? kNaN : it->second;
}

std::vector<Reading> throttled(const View& view, uint64_t reasons) {
  for (const std::string_view name :
       {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"}) {
    auto readings = mean_by_entity(share_with_bits(view, name, reasons));
    if (!readings.empty()) return readings;
  }
  return {};
}

std::vector<Reading> of_job(const View& view, std::vector<Reading> readings) {
  std::set<std::string> own_gpus, own_hosts;
  for (const auto& r : readings)
    if (rank_of_gpu(view, r.entity) >= 0) own_gpus.insert(r.entity);
  for (const auto& h : job_hosts(view)) own_hosts.insert(h);
  const bool hosts_known = std::any_of(readings.begin(), readings.end(), [&](const Reading& r) {
    return own_hosts.contains(host_name(r.entity));
  });
  std::erase_if(readings, [&](const Reading& r) {
    if (!own_gpus.empty()) return !own_gpus.contains(r.entity);
    return hosts_known && !own_hosts.contains(host_name(r.entity));
  });
  return readings;
}

std::vector<Reading> active(std::vector<Reading> shares) {
  std::erase_if(shares, [](const Reading& r) { return !(r.now >= kReasonActive.value); });
  std::stable_sort(shares.begin(), shares.end(),
                   [](const Reading& a, const Reading& b) { return a.now > b.now; });
  return shares;
}

std::string gpu_group(const std::vector<std::string>& entities) {
  if (entities.size() == 1) return gpu_label(entities.front());
  std::set<std::string> hosts;
  for (const auto& e : entities) hosts.insert(host_name(e));
  hosts.erase("");
  if (hosts.size() == 1) return fmt::format("{} GPUs of {}", entities.size(), *hosts.begin());
  if (hosts.empty()) return fmt::format("{} GPUs", entities.size());
  return fmt::format("{} GPUs on {} hosts", entities.size(), hosts.size());
}

std::vector<Gpu> gpus(const View& view) {
  std::map<std::string, Gpu> by_entity;
  const auto fill = [&](const std::vector<Reading>& readings, Reading Gpu::*field,
                        double scale = 1) {
    for (auto r : readings) {
      if (!r.entity.starts_with("gpu/")) continue;
      r.before *= scale;
      r.now *= scale;
      by_entity[r.entity].*field = r;
    }
  };
  fill(first_gauge(view, {"DCGM_FI_DEV_SM_CLOCK"}), &Gpu::clock_mhz);
  fill(first_gauge(view, {"DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_POWER_USAGE_INSTANT"}),
       &Gpu::power_w);
  fill(first_gauge(view, {"DCGM_FI_DEV_GPU_TEMP"}), &Gpu::temperature_c);
  fill(first_gauge(view, {"DCGM_FI_DEV_GPU_UTIL"}), &Gpu::utilization, 0.01);
  const auto idle = throttled(view, gpu_reason::kIdle);
  for (const auto& r : idle)
    if (r.entity.starts_with("gpu/")) by_entity[r.entity];
  for (const auto* s : settings_with_prefix(view, "pcie."))
    if (s->entity.starts_with("gpu/")) by_entity[s->entity];
  for (const auto* s : settings_with_prefix(view, "gpu."))
    if (s->entity.starts_with("gpu/")) by_entity[s->entity];

  const GpuNumbers clock_max(view,
                             {"DCGM_FI_DEV_MAX_SM_CLOCK", "gpu.clocks_max", "gpu.max_sm_clock"});
  const GpuNumbers power_limit(view, {"DCGM_FI_DEV_POWER_MGMT_LIMIT",
                                      "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "gpu.power_limit"});
  const GpuNumbers power_default(view,
                                 {"DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF", "gpu.power_limit_default"});
  const GpuNumbers slowdown(
      view, {"DCGM_FI_DEV_SLOWDOWN_TEMP", "gpu.slowdown_temperature", "gpu.temp_slowdown"});
  for (const auto* s : settings(view, "gpu.model"))
    if (const auto it = by_entity.find(s->entity); it != by_entity.end())
      it->second.model = s->value;

  std::vector<Gpu> out;
  for (auto& [entity, g] : by_entity) {
    g.entity = entity;
    g.rank = rank_of_gpu(view, entity);
    g.clock_max_mhz = clock_max.of(entity);
    g.power_limit_w = power_limit.of(entity);
    g.slowdown_c = slowdown.of(entity);
    const auto* is_idle = of_entity(idle, entity);
    if (is_idle != nullptr && is_idle->now >= 0.5) {
      g.under_load = false;
    } else if (g.utilization.now == g.utilization.now) {
      g.under_load = g.utilization.now >= kUnderLoad.value;
    } else if (g.rank >= 0 && !view.attribution.ledger.empty()) {
      g.under_load = true;  // it carries a rank that makes steps
    }
    out.push_back(std::move(g));
  }
  std::vector<Reading> known;
  for (const auto& g : out) known.push_back({g.entity, {}});
  known = of_job(view, std::move(known));
  std::erase_if(out, [&](const Gpu& g) { return of_entity(known, g.entity) == nullptr; });
  compare_with_peers(out, power_default);
  return out;
}

const Gpu* gpu_of(const std::vector<Gpu>& all, std::string_view entity) {
  const auto it = std::lower_bound(all.begin(), all.end(), entity,
                                   [](const Gpu& g, std::string_view e) { return g.entity < e; });
  return it != all.end() && it->entity == entity ? &*it : nullptr;
}

double clock_cost(const View& view, double now_mhz, double normal_mhz) {
  if (!(now_mhz > 0) || !(normal_mhz > now_mhz)) return kNaN;
  return stake(view, kComputePhases).now_s * (1 - now_mhz / normal_mhz);
}

void weigh_clock(Weighing& w, const Gpu& gpu) {
  const double normal = gpu.normal_clock_mhz, now = gpu.clock_mhz.now;
  if (!(now > 0) || !(normal > 0) || gpu.under_load != true) return;
  const double below = 1 - now / normal;
  if (below > kClockDrop.value) {
    w.hints(kPositive, fact("clock below normal", "DCGM_FI_DEV_SM_CLOCK", gpu.entity, now, "MHz",
                            true, normal));
  } else {
    w.contradicts(
        kPositive,
        fmt::format("{} runs at {:.0f} of {:.0f} MHz under load", gpu_label(gpu.entity), now,
                    normal),
        fact("clock is normal", "DCGM_FI_DEV_SM_CLOCK", gpu.entity, now, "MHz", false, normal));
  }
}

std::string gpu_label(std::string_view entity) {
  const auto id = entity.substr(entity.find('/') + 1);
  const size_t colon = id.find(':');
  if (colon == std::string_view::npos) return fmt::format("GPU {}", id);
  return fmt::format("GPU {} of {}", id.substr(colon + 1), id.substr(0, colon));
}

}  // namespace firstwait
