// The agent's configuration: defaults, a YAML file, then what the command line says.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/phase.h"

namespace firstwait {

struct PushConfig {
  std::string url;  // of an OTLP/HTTP receiver, "http://collector:4318"; empty: nothing is pushed
  Ns interval = Ns{15} * 1'000'000'000;
  std::map<std::string, std::string> headers;
  std::string spool;  // directory; empty: kept in memory only
  size_t spool_bytes = size_t{256} << 20;
  bool operator==(const PushConfig&) const = default;
};

struct AgentConfig {
  std::string listen = "127.0.0.1:9476";  // empty: no /metrics
  std::string host;                       // empty: this machine's name
  std::string root;                       // where the host's / is mounted, in a container
  std::map<std::string, Ns> periods;      // by collector; 0: off
  size_t series = 20'000;
  size_t memory_bytes = size_t{8} << 20;
  std::vector<std::string>
      watch;  // parts of command lines of training processes, beside those found by themselves
  PushConfig push;
  bool operator==(const AgentConfig&) const = default;
};

// Unknown keys, unknown collectors and values of the wrong kind are errors that name the line.
Result<AgentConfig> read_config(const std::string& path);
Result<AgentConfig> parse_config(const std::string& yaml, const std::string& path);

// "1s", "500ms", "2m", "1h", a plain number of seconds; "off" and "0" are 0.
Result<Ns> parse_period(const std::string& text);
// "8MiB", "256 MB", a plain number of bytes.
Result<size_t> parse_size(const std::string& text);

}  // namespace firstwait
