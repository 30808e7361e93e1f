// Pushes to an OTLP/HTTP receiver on a thread of its own: takes what the sampler kept since the
// last time, spools it, and delivers what is spooled with retries that wait longer each time.
#pragma once
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
  uint64_t delivered = 0, retries = 0, refused = 0,
           late = 0;  // late: samples older than the sampler keeps
  SpoolCounts spool;
};

class Push {
 public:
  static Result<std::unique_ptr<Push>> start(const PushConfig& config,
                                             std::function<std::shared_ptr<Sampler>()> sampler,
                                             Transport transport);
  ~Push();
  PushCounts counts() const;
  // One round, as the thread does it; for tests.
  void collect(Ns now);
  bool deliver(const std::stop_token& stop);  // false: the receiver is away

 private:
  Push(PushConfig config, std::function<std::shared_ptr<Sampler>()> sampler, Transport transport,
       Spool spool)
      : config_(std::move(config)),
        sampler_(std::move(sampler)),
        transport_(std::move(transport)),
        spool_(std::move(spool)) {}
  void run(const std::stop_token& stop);

  PushConfig config_;
  std::function<std::shared_ptr<Sampler>()> sampler_;
  Transport transport_;
  mutable std::mutex mutex_;  // guards spool_ and counts_
  Spool spool_;
  PushCounts counts_;
  Ns pushed_to_ = kNoTime;
  size_t events_seen_ = 0, settings_seen_ = 0;
  const void* seen_of_ = nullptr;
  std::jthread thread_;
};

// How long to wait after this many failures in a row: doubles up to five minutes, and half of it is
// random so that a fleet does not come back all at once. `random` is in 0..1.
Ns retry_pause(unsigned failures, double random);

}  // namespace firstwait
