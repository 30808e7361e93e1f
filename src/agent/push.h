// Pushes to an OTLP/HTTP receiver on a thread of its own: takes what the sampler kept since the
// last time, spools it, and delivers what is spooled with retries that wait longer each time.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/config.h"
#include "agent/spool.h"
#include "collect/sampler.h"

namespace firstwait {

enum class Delivery : uint8_t {
  accepted,
  retry,
  refused
};  // refused: it would be refused for ever

// Sends one body; injected so that tests need no network.
using Transport = std::function<Delivery(const SpoolMessage& message)>;
// OTLP/HTTP with gzip over libcurl: /v1/metrics and /v1/logs behind `config.url`. The header
// X-Firstwait-Message names host and message: when an answer was lost, the same message comes again
// under the same name.
Transport http_transport(const PushConfig& config, const std::string& host);

struct PushCounts {
  uint64_t delivered = 0, retries = 0, refused = 0;
  SpoolCounts spool;
};

// How far a sampler's rows have been taken.
struct Taken {
  std::weak_ptr<const Sampler> of;
  SeriesTable::Progress samples;
  size_t events = 0, settings = 0;
};

class Push {
 public:
  using Steady = std::chrono::steady_clock;

  // `taken`: what another Push has had already.
  static Result<std::unique_ptr<Push>> start(const PushConfig& config,
                                             std::function<std::shared_ptr<Sampler>()> sampler,
                                             Transport transport, Taken taken = {});
  ~Push();
  // Ends the thread and spools what is young. Idempotent.
  Taken stop();
  PushCounts counts() const;
  // One round, as the thread does it; for tests.
  void collect();
  // False: the receiver is away. Ends at `until`, with messages left, so that a slow receiver keeps
  // nothing from being collected.
  bool deliver(const std::stop_token& stop, Steady::time_point until = Steady::time_point::max());

 private:
  Push(PushConfig config, std::function<std::shared_ptr<Sampler>()> sampler, Transport transport,
       Spool spool, Taken taken)
      : config_(std::move(config)),
        sampler_(std::move(sampler)),
        transport_(std::move(transport)),
        spool_(std::move(spool)),
        taken_(std::move(taken)) {}
  void run(const std::stop_token& stop);

  PushConfig config_;
  std::function<std::shared_ptr<Sampler>()> sampler_;
  Transport transport_;
  mutable std::mutex mutex_;  // guards spool_ and counts_
  Spool spool_;
  PushCounts counts_;
  Taken taken_;
  std::jthread thread_;
};

// How long to wait after this many failures in a row: doubles up to five minutes, and half of it is
// random so that a fleet does not come back all at once. `random` is in 0..1.
Ns retry_pause(unsigned failures, double random);

}  // namespace firstwait
