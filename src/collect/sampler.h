// Runs the collectors: one thread for all of them, and one each for those that may hang. Keeps what
// they found.
//
//   Sampler sampler({.world = {.host = "node07"}});
//   sampler.start();
//   …
//   sampler.stop();
//   sampler.write_bundle("out");
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "collect/collector.h"

namespace firstwait {

struct SamplerOptions {
  World world = {};
  SeriesTable::Limits limits = {};
  std::vector<std::string> only = {};      // names of collectors; empty: all
  std::map<std::string, Ns> periods = {};  // by collector; 0 switches it off
  Ns retry_absent =
      Ns{60} * 1'000'000'000;      // a source that is absent or denied is tried again after this
  std::function<Ns()> clock = {};  // wall clock; empty: the system's
  std::span<const Registered<Collector>> modules = collectors();
};

// How one collector is doing.
struct CollectorState {
  const Collector* collector = nullptr;
  Presence presence = Presence::absent;
  Ns period = 0;
  uint64_t samplings = 0, samples = 0, troubles = 0, missed = 0;
  Ns busy = 0;  // wall time spent sampling
  Ns newest = kNoTime;
  Ns hanging = 0;  // for how long the present sampling has been running; 0: none is
  std::string last_trouble;
};

class Sampler {
 public:
  explicit Sampler(SamplerOptions options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void start();
  // Waits for the threads for at most a second; one that hangs is left behind (it keeps what it
  // uses alive).
  void stop();
  // Samples each collector once, in this thread, whatever its period. Not between start and stop.
  void sample_once();

  // For /metrics: the newest values, without `instance` (the scraper adds it). OpenMetrics or
  // Prometheus text 0.0.4.
  // `more` is put behind, in the same format.
  std::string exposition(bool openmetrics, std::string_view more = {}) const;
  // metrics.om, events.jsonl, settings.jsonl and inventory.yaml of FORMATS section 1; the directory
  // exists.
  Status write_bundle(const std::string& directory, Ns from = kNoTime) const;
  // metrics.om alone, piece by piece; stops when `sink` returns false.
  void write_metrics(const std::function<bool(std::string_view)>& sink, Ns from = kNoTime) const;

  std::vector<CollectorState> states() const;
  Store& store() const;
  Ns now() const;  // of the clock that its samples bear
  const World& world() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
  std::vector<std::jthread> threads_;
};

// The name of this machine up to the first dot.
std::string this_host();
Ns system_now();

}  // namespace firstwait
