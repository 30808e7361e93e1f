#include "collect/sampler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>

namespace firstwait {
namespace {

using Steady = std::chrono::steady_clock;

Ns since(Steady::time_point from) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - from).count();
}

}  // namespace

Ns system_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string this_host() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  const std::string_view all = name;
  return std::string(all.substr(0, all.find('.')));
}

// What outlives the sampler when a collector hangs.
struct Sampler::Core {
  struct Unit {
    const Collector* collector = nullptr;
    std::unique_ptr<Sampling> sampling;
    std::unique_ptr<Out> out;
    uint32_t source = 0;
    Ns period = 0;
    Steady::time_point due{};
    std::atomic<int64_t> began{0};  // steady time in ns of the sampling that runs; 0: none
    std::mutex mutex;               // guards state
    CollectorState state;
  };

  explicit Core(SamplerOptions o) : options(std::move(o)), store(options.limits) {
    if (options.world.host.empty()) options.world.host = this_host();
    for (const auto& module : options.modules) {
      const Collector& c = *module.module;
      const auto& only = options.only;
      if (!only.empty() && std::find(only.begin(), only.end(), c.name) == only.end()) continue;
      const auto period = options.periods.find(std::string(c.name));
      const Ns p = period == options.periods.end() ? c.period : period->second;
      if (p <= 0) continue;
      Unit& u = units.emplace_back();
      u.collector = u.state.collector = &c;
      u.period = u.state.period = p;
      u.source = store.with([&](SeriesTable& t) { return t.add_source(p); });
      u.out = std::make_unique<Out>(store, u.source);
    }
  }
  Ns now() const { return options.clock ? options.clock() : system_now(); }

  void sample(Unit& u) {
    const auto from = Steady::now();
    u.began = from.time_since_epoch().count();
    if (!u.sampling) u.sampling = u.collector->make(options.world);
    u.out->begin(now());
    const Presence presence = u.sampling->sample(*u.out);
    const size_t samples = u.out->commit();
    u.began = 0;
    const std::lock_guard lock(u.mutex);
    u.state.presence = presence;
    ++u.state.samplings;
    u.state.samples += samples;
    u.state.troubles = u.out->troubles();
    if (u.state.last_trouble != u.out->last_trouble()) u.state.last_trouble = u.out->last_trouble();
    u.state.busy += since(from);
    if (presence == Presence::present) u.state.newest = u.out->now();
  }
  // When it is due again. What was missed because the machine stood still is not made up for.
  void schedule(Unit& u) {
    const bool soon = u.state.presence == Presence::present || u.state.presence == Presence::idle;
    const Ns pause = soon ? u.period : std::max(u.period, options.retry_absent);
    u.due += std::chrono::nanoseconds(pause);
    const auto now = Steady::now();
    if (u.due > now) return;
    const auto late = std::chrono::duration_cast<std::chrono::nanoseconds>(now - u.due).count();
    const Ns missed = late / u.period + 1;
    u.due += std::chrono::nanoseconds(missed * u.period);
    const std::lock_guard lock(u.mutex);
    u.state.missed += static_cast<uint64_t>(missed);
  }
  void wait_until(std::stop_token stop, Steady::time_point due) {
    std::unique_lock lock(sleep);
    wake.wait_until(lock, stop, due, [] { return false; });
  }

  SamplerOptions options;
  Store store;
  std::deque<Unit> units;
  std::mutex sleep;
  std::condition_variable_any wake;
};

Sampler::Sampler(SamplerOptions options) : core_(std::make_shared<Core>(std::move(options))) {}
Sampler::~Sampler() { stop(); }

void Sampler::start() {
  if (!threads_.empty()) return;
  const auto now = Steady::now();
  for (auto& u : core_->units) u.due = now;
  threads_.emplace_back([core = core_](std::stop_token stop) {
    std::vector<Core::Unit*> mine;
    for (auto& u : core->units)
      if (!u.collector->may_hang) mine.push_back(&u);
    while (!stop.stop_requested()) {
      auto next = Steady::now() + std::chrono::seconds(10);
      for (Core::Unit* u : mine) {
        if (u->due <= Steady::now()) {
          core->sample(*u);
          core->schedule(*u);
        }
        next = std::min(next, u->due);
      }
      core->wait_until(stop, next);
    }
  });
  for (auto& u : core_->units)
    if (u.collector->may_hang)
      threads_.emplace_back([core = core_, unit = &u](std::stop_token stop) {
        while (!stop.stop_requested()) {
          core->sample(*unit);
          core->schedule(*unit);
          core->wait_until(stop, unit->due);
        }
      });
}

void Sampler::stop() {
  for (auto& t : threads_) t.request_stop();
  const auto deadline = Steady::now() + std::chrono::seconds(1);
  // The first thread may not hang; of the others those that still sample when the time is up are
  // left behind.
  size_t i = 0;
  if (!threads_.empty()) threads_[i++].join();
  for (auto& u : core_->units) {
    if (!u.collector->may_hang || i >= threads_.size()) continue;
    while (u.began != 0 && Steady::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (u.began != 0)
      threads_[i].detach();
    else
      threads_[i].join();
    ++i;
  }
  threads_.clear();
}

void Sampler::sample_once() {
  for (auto& u : core_->units) core_->sample(u);
}

std::vector<CollectorState> Sampler::states() const {
  std::vector<CollectorState> out;
  const Ns now = Steady::now().time_since_epoch().count();
  for (auto& u : core_->units) {
    const std::lock_guard lock(u.mutex);
    out.push_back(u.state);
    const int64_t began = u.began;
    if (began != 0) out.back().hanging = std::max<Ns>(now - began, 1);
  }
  return out;
}

Store& Sampler::store() const { return core_->store; }
Ns Sampler::now() const { return core_->now(); }
const World& Sampler::world() const { return core_->options.world; }

}  // namespace firstwait
