#include "explain/testing/view_builder.h"

#include <algorithm>

namespace firstwait {

ViewBuilder::~ViewBuilder() = default;
ViewBuilder::ViewBuilder(ViewBuilder&&) noexcept = default;

ViewBuilder::ViewBuilder(bool onset) {
  auto& a = attribution_;
  a.level = EvidenceLevel::phases;
  a.current = {.first = onset ? size_t{100} : 0,
               .last = 199,
               .from = onset ? kOnset : kBefore,
               .to = kEnd,
               .empty = false};
  a.pattern.kind = onset ? PatternKind::step : PatternKind::chronic;
  if (onset) {
    a.baseline = {.first = 0, .last = 99, .from = kBefore, .to = kOnset, .empty = false};
    a.baseline_kind = BaselineKind::past;
    a.onset = Onset{.step = 100, .time = kOnset, .step_lo = 99, .step_hi = 101};
  }
}
ViewBuilder& ViewBuilder::phase(Phase p, double now, double before) {
  LedgerRow r;
  r.phase = p;
  r.seconds = now;
  if (!attribution_.baseline.empty) r.before = before;
  attribution_.ledger.push_back(r);
  finish();
  return *this;
}
ViewBuilder& ViewBuilder::gauge(std::string_view metric, std::string_view entity, double before,
                                double now, const Labels& labels) {
  auto& s = series(metric, entity, labels);
  for (Ns t = kBefore; t <= kEnd; t += 10 * kSecond) {
    s.time.push_back(t);
    s.value.push_back(t < kOnset ? before : now);
  }
  return *this;
}
ViewBuilder& ViewBuilder::counter(std::string_view metric, std::string_view entity, double before,
                                  double now, const Labels& labels) {
  auto& s = series(metric, entity, labels);
  double value = 1000;
  for (Ns t = kBefore; t <= kEnd; t += 10 * kSecond) {
    if (before != before && t <= kOnset) continue;  // a series that begins at the onset
    s.time.push_back(t);
    s.value.push_back(value);
    value += 10 * (t < kOnset ? before : now);
  }
  return *this;
}
ViewBuilder& ViewBuilder::setting(std::string entity, std::string key, std::string value) {
  evidence_.settings.push_back(
      {std::move(entity), std::move(key), std::move(value), "test", kBefore});
  return *this;
}
ViewBuilder& ViewBuilder::event(std::string kind, std::string entity, double seconds_after_onset,
                                Labels attributes) {
  evidence_.events.push_back({std::move(kind), std::move(entity),
                              kOnset + static_cast<Ns>(seconds_after_onset * 1e9), kNoTime,
                              std::move(attributes), "test"});
  return *this;
}
ViewBuilder& ViewBuilder::rank(int32_t r, std::string host) {
  evidence_.rank(r).host = std::move(host);
  return *this;
}

Series& ViewBuilder::series(std::string_view metric, std::string_view entity,
                            const Labels& labels) {
  Series s;
  s.metric = evidence_.names.intern(metric);
  s.entity = evidence_.names.intern(entity);
  for (const auto& [k, v] : labels)
    s.labels.emplace_back(evidence_.names.intern(k), evidence_.names.intern(v));
  evidence_.series.push_back(std::move(s));
  return evidence_.series.back();
}
void ViewBuilder::finish() {
  auto& a = attribution_;
  double now = 0, before = 0;
  for (const auto& r : a.ledger) {
    now += r.seconds;
    before += r.before.value_or(0);
  }
  for (auto& r : a.ledger) r.share = now > 0 ? r.seconds / now : 0;
  std::sort(a.ledger.begin(), a.ledger.end(),
            [](const auto& x, const auto& y) { return x.seconds > y.seconds; });
  a.current_s = now;
  if (!a.baseline.empty) {
    a.baseline_s = before;
    a.slowdown = now / before;
    a.onset->before_s = before;
    a.onset->after_s = now;
  }
}

}  // namespace firstwait
