// The running agent: sampler, /metrics and push, put together from a configuration.
#pragma once
#include <memory>
#include <string>

#include "agent/config.h"
#include "agent/http_server.h"
#include "agent/push.h"
#include "collect/processes.h"
#include "collect/sampler.h"

namespace firstwait {

class Agent {
 public:
  static Result<std::unique_ptr<Agent>> start(const AgentConfig& config);
  ~Agent();
  // Replaces what changed; what did not keeps running. When the new configuration cannot be had,
  // the old one goes on.
  Status reconfigure(const AgentConfig& config);
  void stop();
  std::string describe() const;
  uint16_t port() const;
  Sampler& sampler() { return *sampler_; }

 private:
  explicit Agent(AgentConfig config) : config_(std::move(config)) {}
  Status listen(const std::string& endpoint);
  void start_sampler();
  Status start_push();
  std::string push_metrics(bool openmetrics) const;
  HttpAnswer answer(const HttpRequest& request) const;

  AgentConfig config_;
  mutable std::mutex
      mutex_;  // guards sampler_ and push_: /metrics reads them on the server's thread
  std::shared_ptr<Sampler> sampler_;
  std::shared_ptr<Push> push_;
  std::unique_ptr<HttpServer> server_;
};

// From /etc/firstwait/agent.yaml or $XDG_CONFIG_HOME/firstwait/agent.yaml when one is there;
// otherwise the defaults.
Result<AgentConfig> default_config();

}  // namespace firstwait
