// For tests only: builds a View with a ledger, metrics, settings and events in a few words.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explain/hypothesis.h"

namespace firstwait {

// Seconds since the epoch at which the sample windows lie: before [kBefore, kOnset), now [kOnset,
// kEnd].
class ViewBuilder {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  static constexpr Ns kSecond = 1'000'000'000;
  static constexpr Ns kBefore = 1'764'500'000 * kSecond, kOnset = kBefore + 600 * kSecond,
                      kEnd = kOnset + 600 * kSecond;

  // A job whose step grew at kOnset. Without `onset` the slowness is chronic: one window, no
  // baseline.
  explicit ViewBuilder(bool onset = true);
  ~ViewBuilder();
  ViewBuilder(ViewBuilder&&) noexcept;
  // One ledger row; `before` is ignored for chronic slowness.
  ViewBuilder& phase(Phase p, double now, double before);
  // A gauge that has one value before and one now.
  ViewBuilder& gauge(std::string_view metric, std::string_view entity, double before, double now,
                     const Labels& labels = {});
  // A counter that grows by `before` and then by `now` per second.
  // `before` kNaN: the series begins at the onset.
  ViewBuilder& counter(std::string_view metric, std::string_view entity, double before, double now,
                       const Labels& labels = {});
  ViewBuilder& setting(std::string entity, std::string key, std::string value);
  ViewBuilder& event(std::string kind, std::string entity, double seconds_after_onset,
                     Labels attributes = {});
  ViewBuilder& rank(int32_t r, std::string host);
  Evidence& evidence() { return evidence_; }
  Attribution& attribution() { return attribution_; }
  View view() const { return {evidence_, attribution_}; }

 private:
  Series& series(std::string_view metric, std::string_view entity, const Labels& labels);
  void finish();
  Evidence evidence_;
  Attribution attribution_;
};

}  // namespace firstwait
