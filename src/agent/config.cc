#include "agent/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "collect/collector.h"
#include "collect/file.h"

namespace firstwait {
namespace {

std::string place(const std::string& path, int line) {
  return fmt::format("{}, line {}", path, line + 1);
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Status root(const YAML::Node& node, AgentConfig& c) {
    return fields(node, "", [&](const std::string& key, const YAML::Node& v) -> Status {
      if (key == "listen") return text(v, c.listen);
      if (key == "host") return text(v, c.host);
      if (key == "root") return text(v, c.root);
      if (key == "collectors") return collectors_of(v, c);
      if (key == "limits") return limits(v, c);
      if (key == "watch") return list(v, c.watch);
      if (key == "push") return push(v, c.push);
      return unknown(key, v, "listen, host, root, collectors, limits, watch, push");
    });
  }

 private:
  template <typename F>
  Status fields(const YAML::Node& node, const std::string& name, F f) {
    if (!node || node.IsNull()) return Done{};
    if (!node.IsMap())
      return wrong(node,
                   name + (name.empty() ? "the file" : "") + " must be a map of keys and values");
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return wrong(entry.first, "a key must be a word");
      if (auto status = f(entry.first.Scalar(), entry.second); !status) return status;
    }
    return Done{};
  }
  Status wrong(const YAML::Node& node, const std::string& what) {
    return Error{what, place(path_, node.Mark().line),
                 "correct the line; docs/agent.md lists the keys"};
  }
  Status unknown(const std::string& key, const YAML::Node& node, const std::string& known) {
    return wrong(node, fmt::format("unknown key '{}'; known are {}", key, known));
  }
  Status text(const YAML::Node& node, std::string& out) {
    if (node.IsNull()) return out.clear(), Done{};
    if (!node.IsScalar()) return wrong(node, "a text is expected");
    out = node.Scalar();
    return Done{};
  }
  Status list(const YAML::Node& node, std::vector<std::string>& out) {
    if (!node.IsSequence()) return wrong(node, "a list is expected");
    for (const auto& item : node) {
      if (!item.IsScalar() || item.Scalar().empty()) return wrong(item, "a text is expected");
      out.push_back(item.Scalar());
    }
    return Done{};
  }
  template <typename T, typename F>
  Status value(const YAML::Node& node, T& out, F parse) {
    if (!node.IsScalar()) return wrong(node, "a single value is expected");
    auto parsed = parse(node.Scalar());
    if (!parsed) return wrong(node, parsed.error().what);
    out = *parsed;
    return Done{};
  }
  Status collectors_of(const YAML::Node& node, AgentConfig& c) {
    return fields(node, "collectors", [&](const std::string& key, const YAML::Node& v) -> Status {
      const auto all = collectors();
      if (std::none_of(all.begin(), all.end(),
                       [&](const auto& m) { return m.module->name == key; }))
        return wrong(
            v, fmt::format("unknown collector '{}'; `firstwait list collectors` names them", key));
      if (v.IsScalar()) return value(v, c.periods[key], parse_period);
      return fields(v, key, [&](const std::string& k, const YAML::Node& p) -> Status {
        return k == "period" ? value(p, c.periods[key], parse_period) : unknown(k, p, "period");
      });
    });
  }
  Status limits(const YAML::Node& node, AgentConfig& c) {
    return fields(node, "limits", [&](const std::string& key, const YAML::Node& v) -> Status {
      if (key == "series") return value(v, c.series, parse_size);
      if (key == "memory") return value(v, c.memory_bytes, parse_size);
      return unknown(key, v, "series, memory");
    });
  }
  Status push(const YAML::Node& node, PushConfig& p) {
    return fields(node, "push", [&](const std::string& key, const YAML::Node& v) -> Status {
      if (key == "url") return text(v, p.url);
      if (key == "spool") return text(v, p.spool);
      if (key == "spool_bytes") return value(v, p.spool_bytes, parse_size);
      if (key == "interval") {
        auto status = value(v, p.interval, parse_period);
        return status && p.interval < 1'000'000'000 ? wrong(v, "the interval is at least 1s")
                                                    : status;
      }
      if (key == "headers")
        return fields(v, "headers", [&](const std::string& k, const YAML::Node& h) {
          if (k.find_first_of("\r\n:") != std::string::npos)
            return wrong(h, "a header's name has no colon and no line end");
          auto status = text(h, p.headers[k]);
          if (status && p.headers[k].find_first_of("\r\n") != std::string::npos)
            return wrong(h, "a header's value has no line end");
          return status;
        });
      return unknown(key, v, "url, interval, headers, spool, spool_bytes");
    });
  }
  std::string path_;
};

}  // namespace

Result<Ns> parse_period(const std::string& text) {
  const std::string t(trim(text));
  if (t == "off" || t == "false" || t == "no") return Ns{0};
  const size_t digits = std::min(t.find_first_not_of("0123456789."), t.size());
  const auto number = parse_double(t.substr(0, digits));
  const std::string unit(trim(t.substr(digits)));
  const double scale = unit == "ms"                   ? 1e6
                       : unit.empty() || unit == "s"  ? 1e9
                       : unit == "m" || unit == "min" ? 60e9
                       : unit == "h"                  ? 3600e9
                                                      : 0;
  if (!number || scale == 0)
    return Error{"'" + text + "' is no period; write 1s, 500ms, 2m or off", "", ""};
  const double ns = *number * scale;
  if (ns != 0 && (ns < 1e8 || ns > 86400e9))
    return Error{"a period is from 100ms to 24h, or off", "", ""};
  return static_cast<Ns>(ns);
}

Result<size_t> parse_size(const std::string& text) {
  const std::string t(trim(text));
  const size_t digits = std::min(t.find_first_not_of("0123456789."), t.size());
  const auto number = parse_double(t.substr(0, digits));
  const std::string unit = to_lower(trim(t.substr(digits)));
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},     {"b", 1},      {"kb", 1e3},      {"mb", 1e6},
      {"gb", 1e9}, {"kib", 1024}, {"mib", 1048576}, {"gib", 1073741824}};
  for (const auto& [name, scale] : kUnits)
    if (number && unit == name && *number * scale <= 1e15)
      return static_cast<size_t>(*number * scale);
  return Error{"'" + text + "' is no size; write 8MiB or 256MB", "", ""};
}

Result<AgentConfig> parse_config(const std::string& yaml, const std::string& path) {
  AgentConfig config;
  // yaml-cpp throws; nothing of it leaves this function.
  try {
    if (auto status = Reader(path).root(YAML::Load(yaml), config); !status) return status.error();
  } catch (const YAML::Exception& e) {
    return Error{"no valid YAML: " + e.msg, place(path, std::max(e.mark.line, 0)),
                 "correct the line"};
  }
  return config;
}

Result<AgentConfig> read_config(const std::string& path) {
  const auto text = read_whole(path);
  if (!text)
    return Error{"the configuration cannot be read", path, "check the path and its permissions"};
  return parse_config(*text, path);
}

}  // namespace firstwait
