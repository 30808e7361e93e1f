#include "explain/placing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace firstwait {

double median_of(std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  if (values.empty()) return kNaN;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

std::string_view id_of(std::string_view entity) {
  const size_t slash = entity.find('/');
  return slash == std::string_view::npos ? entity : entity.substr(slash + 1);
}

std::string host_name(std::string_view entity) {
  const size_t slash = entity.find('/');
  if (slash == std::string_view::npos) return {};
  const auto kind = entity.substr(0, slash), rest = entity.substr(slash + 1);
  if (kind == "host") return std::string(rest);
  if (kind != "gpu" && kind != "nic" && kind != "numa" && kind != "process") return {};
  const size_t colon = rest.find(':');  // a PCI address behind it has colons of its own
  return colon == std::string_view::npos ? std::string() : std::string(rest.substr(0, colon));
}

std::string port_of(const Reading& reading) {
  if (!reading.entity.starts_with("host/")) return reading.entity;
  std::string device, port;
  for (const auto& [key, value] : reading.labels) {
    if (key == "device" || key == "interface") device = value;
    if (key == "port" && value != "1") port = value;
  }
  if (device.empty()) return reading.entity;
  return "nic/" + reading.entity.substr(5) + ":" + device + (port.empty() ? "" : "/" + port);
}

std::vector<std::string> job_hosts(const View& view) {
  std::set<std::string> hosts;
  for (const auto& [r, info] : view.evidence.ranks)
    if (!info.host.empty()) hosts.insert(info.host);
  return {hosts.begin(), hosts.end()};
}

int32_t rank_of_gpu(const View& view, std::string_view gpu_entity) {
  return gpu_entity.starts_with("gpu/") ? view.rank_of_gpu(id_of(gpu_entity)) : -1;
}

std::vector<int32_t> slow_ranks(const View& view) {
  const auto& a = view.attribution;
  std::set<int32_t> slow;
  const double least = 1 + kPeerSpread.value;
  for (const auto& s : a.straggles)
    if (s.mean_ratio >= least) slow.insert(s.rank);
  for (const auto& s : a.rank_stats)
    if (s.ratio_to_peers >= least) slow.insert(s.rank);
  for (const auto& r : a.ledger)
    // The ranks with a long collective are the victims, not the place.
    if (r.phase != Phase::collective && r.phase != Phase::p2p && r.share >= kPeerSpread.value)
      slow.insert(r.ranks.begin(), r.ranks.end());
  if (slow.size() >= std::max<size_t>(view.evidence.ranks.size(), 2)) slow.clear();
  return {slow.begin(), slow.end()};
}

std::optional<bool> is_slow_place(const View& view, std::string_view entity) {
  const auto slow = slow_ranks(view);
  if (slow.empty()) return std::nullopt;
  const int32_t gpu_rank = rank_of_gpu(view, entity);
  const auto host = host_name(entity);
  const auto here = [&](int32_t r) {
    if (gpu_rank >= 0) return r == gpu_rank;
    const auto it = view.evidence.ranks.find(r);
    return it != view.evidence.ranks.end() && !host.empty() && it->second.host == host;
  };
  const auto& ranks = view.evidence.ranks;
  if (std::none_of(ranks.begin(), ranks.end(), [&](const auto& r) { return here(r.first); }))
    return std::nullopt;
  return std::any_of(slow.begin(), slow.end(), here);
}

void weigh_place(Weighing& w, const View& view, std::string_view entity) {
  const auto slow = is_slow_place(view, entity);
  if (!slow) return;
  const int32_t rank = slow_ranks(view).front();
  const auto row = [&](std::string text) {
    return fact(std::move(text), "rank times", std::string(entity), kNaN, "", *slow);
  };
  if (*slow) {
    w.hints(kPositive, row(fmt::format("slow rank {} is here", rank)));
  } else {
    w.contradicts(kStrong,
                  fmt::format("slow rank {} does not run on {}", rank, std::string(id_of(entity))),
                  row(fmt::format("slow rank {} is elsewhere", rank)));
  }
}

void add_place(Weighing& w, const View& view, std::string_view entity) {
  if (const int32_t r = rank_of_gpu(view, entity); r >= 0) w.where(fmt::format("rank/{}", r));
  w.where(std::string(entity));
  if (const auto host = host_name(entity); !host.empty()) w.where("host/" + host);
}

void weigh_transfer(Weighing& w, const View& view) {
  const double wait = view.attribution.collective_wait_s;
  const double transfer = view.attribution.collective_transfer_s;
  if (!(wait >= 0) || !(transfer >= 0) || !(wait + transfer > 0)) return;
  const double share = transfer / (wait + transfer);
  if (share >= 0.5) {
    w.hints(kWeak, fact("the collectives' time is transfer", "collective transfer", "", share,
                        "ratio", true));
  } else {
    w.contradicts(kPositive,
                  fmt::format("{} of the collectives' time is waiting for a late rank",
                              percent_text(1 - share)),
                  fact("the collectives' time is waiting for a late rank", "collective wait", "",
                       1 - share, "ratio", false));
  }
}

Stake stake_or_unexplained(const View& view, std::span<const Phase> phases) {
  const Stake own = stake(view, phases);
  if (own.state != Stake::State::unknown) return own;
  const Stake rest = stake(view, {Phase::unexplained});
  return rest.state == Stake::State::present ? rest : own;
}

void limit_effect(Verdict& verdict, double most) {
  if (!verdict.effect || !(most >= 0)) return;
  auto& e = *verdict.effect;
  e.seconds_per_step = std::min(e.seconds_per_step, most);
  e.interval.hi = std::isnan(e.interval.hi) ? most : std::min(e.interval.hi, most);
}

std::optional<bool> rose(const Reading& reading) {
  if (!reading.has_before()) return std::nullopt;
  return reading.now_count >= kCounted.value && reading.now >= kRise.value * reading.before;
}

}  // namespace firstwait
