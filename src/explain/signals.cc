#include "explain/signals.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "base/text.h"

namespace firstwait {
namespace {

struct Windows {
  Ns before_from = kNoTime, before_to = kNoTime, now_from = INT64_MIN, now_to = INT64_MAX;
  bool has_before = false;
};

Windows windows(const View& view) {
  Windows w;
  const auto& a = view.attribution;
  if (!a.current.empty && a.current.from != kNoTime) {
    w.now_from = a.current.from;
    w.now_to = a.current.to;
  }
  if (!a.baseline.empty && a.baseline.from != kNoTime && a.current.from != kNoTime) {
    w.before_from = a.baseline.from;
    w.before_to = a.baseline.to - 1;  // the sample at the onset belongs to now
    w.has_before = true;
  }
  return w;
}

// A window shorter than the scrape period holds no sample: the neighbours outside it then speak for
// it. Not of a series that began later or had ended: it says nothing of that time.
std::pair<size_t, size_t> range(const Series& s, Ns from, Ns to, size_t least) {
  if (s.time.front() > to || s.time.back() < from) return {0, 0};
  auto lo =
      static_cast<size_t>(std::lower_bound(s.time.begin(), s.time.end(), from) - s.time.begin());
  auto hi =
      static_cast<size_t>(std::upper_bound(s.time.begin(), s.time.end(), to) - s.time.begin());
  while (hi - lo < least && (lo > 0 || hi < s.time.size())) {
    if (lo > 0) --lo;
    if (hi - lo < least && hi < s.time.size()) ++hi;
  }
  return {lo, hi};
}

double mean(const Series& s, Ns from, Ns to, Reading* now) {
  const auto [lo, hi] = range(s, from, to, 1);
  double sum = 0;
  size_t n = 0;
  double top = kNaN;
  for (size_t i = lo; i < hi; ++i) {
    if (std::isnan(s.value[i])) continue;
    sum += s.value[i];
    ++n;
    if (!(top >= s.value[i])) top = s.value[i];
  }
  if (now != nullptr) now->now_max = top;
  return n == 0 ? kNaN : sum / static_cast<double>(n);
}

double increase_per_second(const Series& s, Ns from, Ns to, Reading* now) {
  const auto [lo, hi] = range(s, from, to, 2);
  double increase = 0, seconds = 0, top = kNaN;
  for (size_t i = lo + 1; i < hi; ++i) {
    const double dt = (static_cast<double>(s.time[i]) - static_cast<double>(s.time[i - 1])) * 1e-9;
    if (!(dt > 0) || std::isnan(s.value[i]) || std::isnan(s.value[i - 1])) continue;
    // A counter that falls was reset: what it shows now was counted since.
    const double d = s.value[i] >= s.value[i - 1] ? s.value[i] - s.value[i - 1] : s.value[i];
    increase += d;
    seconds += dt;
    if (!(top >= d / dt)) top = d / dt;
  }
  if (now != nullptr) {
    now->now_max = top;
    if (seconds > 0) now->now_count = increase;
  }
  return seconds > 0 ? increase / seconds : kNaN;
}

bool matches(const Evidence& e, const Series& s, LabelFilter filter) {
  for (const auto& [key, value] : filter) {
    const NameId k = e.names.find(key);
    if (k == kNoName || e.names[s.label(k)] != value) return false;
  }
  return true;
}

template <typename Value>
std::vector<Reading> read(const View& view, std::string_view metric, LabelFilter filter,
                          Value value) {
  std::vector<Reading> out;
  const auto& e = view.evidence;
  const Windows w = windows(view);
  for (const Series* series : view.series(metric)) {
    const Series& s = *series;
    if (s.time.empty() || !matches(e, s, filter)) continue;
    Reading r;
    r.entity = e.names[s.entity];
    for (const auto& [k, v] : s.labels) r.labels.emplace_back(e.names[k], e.names[v]);
    r.now = value(s, w.now_from, w.now_to, &r);
    if (w.has_before) r.before = value(s, w.before_from, w.before_to, nullptr);
    if (r.now == r.now) out.push_back(std::move(r));
  }
  return out;
}

}  // namespace

std::vector<Reading> gauge(const View& view, std::string_view metric, LabelFilter filter) {
  return read(view, metric, filter, mean);
}

std::vector<Reading> rate(const View& view, std::string_view metric, LabelFilter filter) {
  return read(view, metric, filter, increase_per_second);
}

std::vector<Reading> share_with_bits(const View& view, std::string_view metric, uint64_t mask,
                                     LabelFilter filter) {
  return read(view, metric, filter, [mask](const Series& s, Ns from, Ns to, Reading* now) {
    const auto [lo, hi] = range(s, from, to, 1);
    double set = 0, n = 0;
    for (size_t i = lo; i < hi; ++i) {
      if (!(s.value[i] >= 0 && s.value[i] < 9e18)) continue;  // DCGM's blanks begin at 9.2e18
      n += 1;
      if ((static_cast<uint64_t>(s.value[i]) & mask) != 0) set += 1;
    }
    if (now != nullptr) now->now_max = set > 0 ? 1 : 0;
    return n > 0 ? set / n : kNaN;
  });
}

std::vector<Reading> sum_by_entity(const std::vector<Reading>& readings) {
  std::map<std::string, Reading> sums;
  for (const auto& r : readings) {
    auto [it, fresh] = sums.try_emplace(r.entity, r);
    if (fresh) {
      it->second.labels.clear();
      continue;
    }
    it->second.before += r.before;
    it->second.now += r.now;
    it->second.now_max += r.now_max;
    it->second.now_count += r.now_count;
  }
  std::vector<Reading> out;
  for (auto& [entity, r] : sums) out.push_back(std::move(r));
  return out;
}

std::vector<Reading> mean_by_entity(const std::vector<Reading>& readings) {
  std::map<std::string, double> counts;
  for (const auto& r : readings) counts[r.entity] += 1;
  auto out = sum_by_entity(readings);
  for (auto& r : out) {
    const double n = counts[r.entity];
    r.before /= n;
    r.now /= n;
    r.now_max /= n;
    r.now_count /= n;
  }
  return out;
}

const Reading* of_entity(const std::vector<Reading>& readings, std::string_view entity) {
  assert(std::is_sorted(readings.begin(), readings.end(),
                        [](const Reading& a, const Reading& b) { return a.entity < b.entity; }));
  const auto it =
      std::lower_bound(readings.begin(), readings.end(), entity,
                       [](const Reading& r, std::string_view wanted) { return r.entity < wanted; });
  return it != readings.end() && it->entity == entity ? &*it : nullptr;
}

std::vector<Reading> ratio(const std::vector<Reading>& numerator,
                           const std::vector<Reading>& denominator) {
  std::vector<Reading> out;
  for (const auto& n : numerator) {
    const Reading* d = of_entity(denominator, n.entity);
    if (d == nullptr || !(d->now > 0)) continue;
    Reading r;
    r.entity = n.entity;
    r.now = n.now / d->now;
    r.before = d->before > 0 ? n.before / d->before : kNaN;
    out.push_back(std::move(r));
  }
  return out;
}

bool has_metric(const View& view, std::string_view metric) {
  const auto all = view.series(metric);
  return std::any_of(all.begin(), all.end(), [](const Series* s) { return !s->time.empty(); });
}

namespace {
std::vector<const Setting*> latest_settings(std::span<const Setting* const> all) {
  std::map<std::pair<std::string_view, std::string_view>, const Setting*> latest;
  for (const Setting* s : all) {
    auto& slot = latest[{s->entity, s->key}];
    if (slot == nullptr || s->time >= slot->time) slot = s;
  }
  std::vector<const Setting*> out;
  for (const auto& [key, s] : latest) out.push_back(s);
  return out;
}
}  // namespace

std::vector<const Setting*> settings(const View& view, std::string_view key) {
  return latest_settings(view.settings(key));
}

std::vector<const Setting*> settings_with_prefix(const View& view, std::string_view prefix) {
  return latest_settings(view.settings_with_prefix(prefix));
}

std::optional<std::string> setting(const View& view, std::string_view key) {
  const auto all = settings(view, key);
  if (all.empty()) return std::nullopt;
  for (const auto* s : all)
    if (s->value != all.front()->value) return std::nullopt;
  return all.front()->value;
}

std::optional<double> setting_number(const View& view, std::string_view key) {
  const auto text = setting(view, key);
  return text ? parse_double(*text) : std::nullopt;
}

std::optional<int> cpu_list_size(std::string_view list) {
  int count = 0;
  for (const auto piece : split(trim(list), ',')) {
    const size_t dash = piece.find('-');
    const auto first = parse_int(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 1 << 20) return std::nullopt;
    count += static_cast<int>(*last - *first + 1);
  }
  return count;
}

std::vector<const Event*> events(const View& view, std::string_view kind) {
  std::vector<const Event*> out;
  for (const auto& e : view.evidence.events)
    if (e.kind == kind) out.push_back(&e);
  return out;
}

const LedgerRow* ledger_row(const View& view, Phase phase) {
  for (const auto& r : view.attribution.ledger)
    if (r.phase == phase) return &r;
  return nullptr;
}

double phase_seconds(const View& view, Phase phase) {
  const auto* r = ledger_row(view, phase);
  return r == nullptr ? 0 : r->seconds;
}

double phase_excess(const View& view, Phase phase) {
  const auto* r = ledger_row(view, phase);
  if (r == nullptr) return 0;
  return r->before ? std::max(0.0, r->seconds - *r->before) : r->seconds;
}

std::string host_entity(const View& view, int32_t rank) {
  const auto it = view.evidence.ranks.find(rank);
  return it == view.evidence.ranks.end() || it->second.host.empty() ? ""
                                                                    : "host/" + it->second.host;
}

Verdict untested(std::initializer_list<std::string_view> needs) {
  Verdict v;
  v.outcome = Outcome::untested;
  v.needs.assign(needs.begin(), needs.end());
  return v;
}

Verdict refuted(std::string reason, double llr, std::vector<EvidenceRow> evidence) {
  Verdict v;
  v.outcome = Outcome::refuted;
  v.reason = std::move(reason);
  v.llr = llr;
  v.evidence = std::move(evidence);
  return v;
}

EvidenceRow row(std::string text, std::string metric, std::string entity, const Reading& reading,
                std::string unit, bool supports) {
  return {std::move(text),    std::move(metric), std::move(entity), known(reading.before),
          known(reading.now), std::move(unit),   supports};
}

std::optional<double> known(double value) {
  return value == value ? std::optional(value) : std::nullopt;
}

}  // namespace firstwait
