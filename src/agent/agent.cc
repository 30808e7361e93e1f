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
  options.world.processes =
      std::make_shared<Processes>(Processes::Options{{}, config_.watch, true});
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
    const std::string more = push_metrics(open);
    {
      const std::lock_guard lock(mutex_);
      sampler = sampler_;
    }
    return {200,
            open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                 : "text/plain; version=0.0.4; charset=utf-8",
            sampler->exposition(open, more)};
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
  if (auto status = agent->start_push(); !status) return status.error();
  return agent;
}

Status Agent::start_push() {
  std::shared_ptr<Push> fresh;
  if (!config_.push.url.empty()) {
    // The old one lets go of the spool first.
    std::shared_ptr<Push> before;
    {
      const std::lock_guard lock(mutex_);
      before = std::move(push_);
    }
    Taken taken;
    if (before) taken = before->stop();
    before.reset();
    auto push = Push::start(
        config_.push,
        [this] {
          const std::lock_guard lock(mutex_);
          return sampler_;
        },
        http_transport(config_.push, sampler_->world().host), std::move(taken));
    if (!push) return push.error();
    fresh = std::move(*push);
  }
  const std::lock_guard lock(mutex_);
  std::swap(push_, fresh);
  return Done{};
}

std::string Agent::push_metrics(bool openmetrics) const {
  std::shared_ptr<Push> push;
  {
    const std::lock_guard lock(mutex_);
    push = push_;
  }
  if (!push) return {};
  const PushCounts c = push->counts();
  std::string out;
  const auto one = [&](std::string_view name, bool counter, std::string_view help, uint64_t value) {
    const std::string_view family = openmetrics && counter ? name.substr(0, name.size() - 6) : name;
    out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3} {4}\n", family, help,
                       counter ? "counter" : "gauge", name, value);
  };
  one("firstwait_agent_push_delivered_total", true, "Messages that the receiver took.",
      c.delivered);
  one("firstwait_agent_push_retries_total", true, "Attempts that failed and are made again.",
      c.retries);
  one("firstwait_agent_push_refused_total", true, "Messages that the receiver refused for ever.",
      c.refused);
  one("firstwait_agent_spool_dropped_total", true,
      "Messages given up because the spool or the disk was full.", c.spool.dropped_full);
  one("firstwait_agent_spool_damaged_total", true, "Messages lost because their file was damaged.",
      c.spool.dropped_damaged);
  one("firstwait_agent_spool_messages", false, "Messages that wait for delivery.", c.spool.waiting);
  one("firstwait_agent_spool_bytes", false, "Size of what waits for delivery.", c.spool.bytes);
  return out;
}

Status Agent::reconfigure(const AgentConfig& config) {
  if (config.listen != config_.listen)
    if (auto status = listen(config.listen); !status) return status;
  AgentConfig old = std::exchange(config_, config);
  const bool push_changed = !(old.push == config_.push);
  old.listen = config_.listen;
  old.push = config_.push;
  if (!(old == config_)) {
    const auto before = sampler_;
    start_sampler();
    before->stop();
  }
  return push_changed ? start_push() : Status(Done{});
}

void Agent::stop() {
  server_.reset();
  if (sampler_) sampler_->stop();
  std::shared_ptr<Push> push;
  {
    const std::lock_guard lock(mutex_);
    push = std::move(push_);
  }
  push.reset();  // spools what is young
}

Agent::~Agent() { stop(); }

uint16_t Agent::port() const { return server_ ? server_->port() : 0; }

std::string Agent::describe() const {
  return fmt::format(
      "{} collectors{}", sampler_->states().size(),
      server_ ? fmt::format(", /metrics on {} (port {})", config_.listen, server_->port()) : "");
}

}  // namespace firstwait
