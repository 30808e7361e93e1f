// All series of this process: names, labels, newest values and the last hour. Not thread-safe: the
// sampler guards it.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collect/ring.h"

namespace firstwait {

enum class MetricKind : uint8_t { counter, gauge, untyped };

// A constant of a collector's descriptor. A '*' in the name (and help) stands for what the source
// calls the field.
struct Metric {
  std::string_view name;
  MetricKind kind;
  std::string_view help;
  int64_t scale = 1;  // the value is the raw integer divided by this power of ten
};

struct Label {
  std::string_view key, value;
};

using SeriesId = uint32_t;
inline constexpr SeriesId kNoSeries = UINT32_MAX;

struct RawSample {
  SeriesId series;
  int64_t value;
};

struct SeriesInfo {
  std::string_view name;    // of the metric, complete
  std::string_view labels;  // `device="eth0",port="1"`, values escaped; may be empty
  const Metric* metric = nullptr;
};

class SeriesTable {
 public:
  struct Limits {
    size_t series = 20'000;
    size_t ring_bytes = 8 << 20;
    Ns keep = Ns{3600} * 1'000'000'000;
  };
  explicit SeriesTable(Limits limits) : limits_(limits), ring_(limits.ring_bytes) {}

  // Whoever samples: its samples share their times.
  uint32_t add_source(Ns period);
  // The same metric and labels give the same id; kNoSeries beyond the limit. `metric` must outlive
  // the table. Labels with an empty value are kept: they tell series apart as upstream does.
  SeriesId intern(uint32_t source, const Metric& metric, std::string_view star,
                  std::span<const Label> labels);
  // What it stood for is gone; its id may mean another series once its samples are forgotten.
  void release(SeriesId id);
  // One sampling of a source. Times of a source may jump (the clock was set); their order is kept.
  void commit(uint32_t source, Ns time, std::span<const RawSample> samples);

  // Values of each source's newest sampling, by metric name. `newer_than`: leaves out sources that
  // fell silent before.
  using LatestFn = std::function<void(const SeriesInfo&, Ns time, int64_t raw)>;
  void visit_latest(Ns newer_than, const LatestFn& f) const;
  // Everything kept since `from`, by metric name, each series in order.
  using SampleFn = std::function<void(const SeriesInfo&, std::span<const Ns> times,
                                      std::span<const int64_t> raw)>;
  void visit(Ns from, const SampleFn& f) const;

  // How many samplings of each source a reader has seen. Counted, not timed: nothing is read twice
  // or missed when the clock is set, or when a sampling takes long.
  using Progress = std::vector<uint32_t>;
  Progress progress() const;
  // At most about `span` further than `seen`, never beyond the present.
  Progress next(const Progress& seen, Ns span) const;
  // What was sampled behind `seen` up to and with `to`.
  void visit(const Progress& seen, const Progress& to, const SampleFn& f) const;

  size_t live() const { return live_; }
  uint64_t refused() const { return refused_; }
  uint64_t evicted_early() const { return ring_.evicted_early(); }
  size_t ring_bytes() const { return ring_.bytes(); }

 private:
  struct Series {
    std::string key;  // name, '{', labels
    uint32_t name_size = 0;
    const Metric* metric = nullptr;
    bool released = false;
    SeriesInfo info() const {
      const std::string_view k = key;
      return {k.substr(0, name_size), k.substr(std::min(k.size(), size_t{name_size} + 1)), metric};
    }
  };
  struct Source {
    Ns period = 0;
    uint32_t tick = 0;
    uint32_t keep = 3600;
    std::vector<Ns> times;  // of tick t: times[t % size]
  };
  void reclaim();
  // `wanted(source, tick, time)`
  template <typename Wanted>
  void visit_if(Wanted wanted, const SampleFn& f) const;

  Limits limits_;
  SampleRing ring_;
  std::vector<Source> sources_;
  std::deque<Series> series_;     // addresses are stable: by_key_ points into the keys
  std::vector<RingSeries> kept_;  // parallel to series_
  std::vector<SeriesId> free_, released_;
  std::unordered_map<std::string_view, SeriesId> by_key_;
  std::map<std::string, std::vector<SeriesId>, std::less<>> by_name_;
  size_t live_ = 0;
  uint64_t refused_ = 0;
};

// `raw / scale` as an exact decimal.
void append_decimal(std::string& out, int64_t raw, int64_t scale);

}  // namespace firstwait
