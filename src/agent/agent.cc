#include "agent/agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace firstwait {

Result<AgentConfig> default_config() {
  std::vector<std::string> places;
  if (const char* home = std::getenv("XDG_CONFIG_HOME"); home != nullptr && *home != 0)
    places.push_back(std::string(home) + "/firstwait/agent.yaml");
  else if (const char* user = std::getenv("HOME"); user != nullptr && *user != 0)
    places.push_back(std::string(user) + "/.config/firstwait/agent.yaml");
  places.emplace_back("/etc/firstwait/agent.yaml");
  for (const auto& place : places)
    if (::access(place.c_str(), R_OK) == 0) return read_config(place);
  return AgentConfig{};
}

void Agent::start_sampler() {
  SamplerOptions options;
  if (!config_.root.empty() && config_.root != "/") options.world.root = Root::at(config_.root);
  options.world.host = config_.host;
  options.limits.series = config_.series;
  options.limits.ring_bytes = config_.memory_bytes;
  options.periods = config_.periods;
  auto sampler = std::make_shared<Sampler>(std::move(options));
  sampler->start();
  const std::lock_guard lock(mutex_);
  sampler_ = std::move(sampler);
}

Status Agent::listen(const std::string& endpoint) {
  if (endpoint.empty()) {
    server_.reset();
    return Done{};
  }
  auto server = HttpServer::start(endpoint, [this](const HttpRequest& r) { return answer(r); });
  if (!server) return server.error();
  server_ = std::move(*server);
  return Done{};
}

HttpAnswer Agent::answer(const HttpRequest& request) const {
  if (request.path == "/metrics") {
    const bool open = request.accept.find("application/openmetrics-text") != std::string_view::npos;
    std::shared_ptr<Sampler> sampler;
    {
      const std::lock_guard lock(mutex_);
      sampler = sampler_;
    }
    return {200,
            open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                 : "text/plain; version=0.0.4; charset=utf-8",
            sampler->exposition(open)};
  }
  if (request.path == "/healthz" || request.path == "/readyz")
    return {200, "text/plain; charset=utf-8", "ok\n"};
  if (request.path == "/")
    return {200, "text/html; charset=utf-8",
            "<!doctype html><title>firstwait-agent</title><a href=\"/metrics\">metrics</a>\n"};
  return {404, "text/plain; charset=utf-8", "not found; see /metrics\n"};
}

Result<std::unique_ptr<Agent>> Agent::start(const AgentConfig& config) {
  std::unique_ptr<Agent> agent(new Agent(config));
  agent->start_sampler();
  if (auto status = agent->listen(config.listen); !status) return status.error();
  return agent;
}

Status Agent::reconfigure(const AgentConfig& config) {
  if (config.listen != config_.listen)
    if (auto status = listen(config.listen); !status) return status;
  AgentConfig old = std::exchange(config_, config);
  old.listen = config_.listen;
  old.push = config_.push;
  if (!(old == config_)) {
    const auto before = sampler_;
    start_sampler();
    before->stop();
  }
  return Done{};
}

void Agent::stop() {
  server_.reset();
  if (sampler_) sampler_->stop();
}

Agent::~Agent() { stop(); }

uint16_t Agent::port() const { return server_ ? server_->port() : 0; }

std::string Agent::describe() const {
  size_t present = 0, all = 0;
  for (const auto& s : sampler_->states()) {
    ++all;
    if (s.presence == Presence::present) ++present;
  }
  return fmt::format(
      "{} collectors{}", all,
      server_ ? fmt::format(", /metrics on {} (port {})", config_.listen, server_->port()) : "");
}

}  // namespace firstwait
