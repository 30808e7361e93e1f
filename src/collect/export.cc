// What the sampler kept, as text and as evidence.
#include <fmt/format.h>

#include <cstdio>

#include "collect/sampler.h"

namespace firstwait {
namespace {

constexpr Ns kSecond = 1'000'000'000;

// Help with the field's name in the place of '*', on one line.
std::string help_of(const SeriesInfo& s) {
  std::string help(s.metric->help);
  const size_t star = s.metric->name.find('*');
  const size_t at = help.find('*');
  if (star != std::string_view::npos && at != std::string::npos)
    help.replace(at, 1, s.name.substr(star, s.name.size() - (s.metric->name.size() - 1)));
  return help;
}

// OpenMetrics names a counter's family without "_total", and knows no counter whose samples lack
// it.
void append_family(std::string& out, const SeriesInfo& s, bool openmetrics) {
  std::string_view family = s.name;
  std::string_view type = s.metric->kind == MetricKind::counter ? "counter"
                          : s.metric->kind == MetricKind::gauge ? "gauge"
                                                                : "untyped";
  if (openmetrics) {
    if (type == "counter" && family.ends_with("_total"))
      family.remove_suffix(6);
    else if (type != "gauge")
      type = "unknown";
  }
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family, help_of(s), family, type);
}

// Metrics about this process itself; not kept over time.
void append_own(std::string& out, const std::vector<CollectorState>& states, Store& store,
                bool openmetrics) {
  const auto family = [&](std::string_view name, bool counter, std::string_view help) {
    const std::string_view shown = openmetrics && counter ? name.substr(0, name.size() - 6) : name;
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", shown, help, shown,
                       counter ? "counter" : "gauge");
  };
  family("firstwait_agent_collector_up", false, "1: the collector's source is there and was read.");
  for (const auto& s : states)
    out += fmt::format("firstwait_agent_collector_up{{collector=\"{}\"}} {}\n", s.collector->name,
                       s.presence == Presence::present || s.presence == Presence::idle ? 1 : 0);
  family("firstwait_agent_collector_busy_seconds_total", true,
         "Wall time that the collector took.");
  for (const auto& s : states) {
    out += fmt::format("firstwait_agent_collector_busy_seconds_total{{collector=\"{}\"}} ",
                       s.collector->name);
    append_decimal(out, s.busy, kSecond);
    out += '\n';
  }
  family("firstwait_agent_collector_hanging_seconds", false,
         "For how long the present sampling has been running.");
  for (const auto& s : states) {
    out += fmt::format("firstwait_agent_collector_hanging_seconds{{collector=\"{}\"}} ",
                       s.collector->name);
    append_decimal(out, s.hanging, kSecond);
    out += '\n';
  }
  const auto number = [&](std::string_view name, uint64_t CollectorState::*field,
                          std::string_view help) {
    family(name, true, help);
    for (const auto& s : states)
      out += fmt::format("{}{{collector=\"{}\"}} {}\n", name, s.collector->name, s.*field);
  };
  number("firstwait_agent_collector_samples_total", &CollectorState::samples, "Samples taken.");
  number("firstwait_agent_collector_troubles_total", &CollectorState::troubles,
         "Parts of the source that could not be understood.");
  number("firstwait_agent_collector_missed_total", &CollectorState::missed,
         "Samplings that came too late and were left out.");
  const auto [live, refused, early, bytes] = store.with([](SeriesTable& t) {
    return std::tuple(t.live(), t.refused(), t.evicted_early(), t.ring_bytes());
  });
  const auto one = [&](std::string_view name, bool counter, std::string_view help, uint64_t value) {
    family(name, counter, help);
    out += fmt::format("{} {}\n", name, value);
  };
  one("firstwait_agent_series", false, "Series held.", live);
  one("firstwait_agent_series_refused_total", true, "Series left out because there were too many.",
      refused);
  one("firstwait_agent_ring_bytes", false, "Memory of the last hour's samples.", bytes);
  one("firstwait_agent_ring_evicted_total", true,
      "Samples that were dropped before they were an hour old.", early);
  one("firstwait_agent_events_dropped_total", true, "Events that were dropped for newer ones.",
      store.events_dropped());
}

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string event_line(const Event& e) {
  std::string out = "{\"kind\":";
  append_json(out, e.kind);
  out += ",\"entity\":";
  append_json(out, e.entity);
  const auto time = [&](std::string_view key, Ns at) {
    if (at == kNoTime) return;
    out += fmt::format(",\"{}\":", key);
    append_decimal(out, at, kSecond);
  };
  time("start", e.start);
  time("end", e.end);
  out += ",\"attributes\":{";
  for (size_t i = 0; i < e.attributes.size(); ++i) {
    if (i > 0) out += ',';
    append_json(out, e.attributes[i].first);
    out += ':';
    append_json(out, e.attributes[i].second);
  }
  return out + "}}\n";
}

std::string setting_line(const Setting& s) {
  std::string out = "{\"entity\":";
  append_json(out, s.entity);
  for (const auto& [key, value] :
       {std::pair("key", &s.key), {"value", &s.value}, {"source", &s.source}}) {
    out += fmt::format(",\"{}\":", key);
    append_json(out, *value);
  }
  if (s.time != kNoTime) {
    out += ",\"time\":";
    append_decimal(out, s.time, kSecond);
  }
  return out + "}\n";
}

// JSON strings are YAML strings.
std::string inventory(const std::vector<Entity>& entities, const std::vector<Relation>& relations) {
  std::string out = "entities:\n";
  for (const Entity& e : entities) {
    const size_t slash = e.id.find('/');
    out += "  - {kind: ";
    append_json(out, std::string_view(e.id).substr(0, slash));
    out += ", id: ";
    append_json(out, slash == std::string::npos ? std::string_view()
                                                : std::string_view(e.id).substr(slash + 1));
    out += ", attributes: {";
    for (size_t i = 0; i < e.attributes.size(); ++i) {
      if (i > 0) out += ", ";
      append_json(out, e.attributes[i].first);
      out += ": ";
      append_json(out, e.attributes[i].second);
    }
    out += "}}\n";
  }
  out += "relations:\n";
  for (const Relation& r : relations) {
    out += "  - {from: ";
    append_json(out, r.from);
    out += ", kind: ";
    append_json(out, r.kind);
    out += ", to: ";
    append_json(out, r.to);
    for (const auto& [key, at] :
         {std::pair("valid_from", r.valid_from), {"valid_to", r.valid_to}}) {
      if (at == kNoTime) continue;
      out += fmt::format(", {}: ", key);
      append_decimal(out, at, kSecond);
    }
    out += "}\n";
  }
  return out;
}

class OutFile {
 public:
  explicit OutFile(std::string path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wbe")) {}
  ~OutFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;
  bool write(std::string_view text) {
    if (file_ != nullptr && std::fwrite(text.data(), 1, text.size(), file_) != text.size())
      failed_ = true;
    return file_ != nullptr && !failed_;
  }
  Status close() {
    bool good = file_ != nullptr && !failed_;
    if (file_ != nullptr) good = std::fclose(file_) == 0 && good;
    file_ = nullptr;
    if (good) return Done{};
    return Error{"the file cannot be written", path_,
                 "check the directory, its permissions and the free space"};
  }

 private:
  std::string path_;
  std::FILE* file_;
  bool failed_ = false;
};

}  // namespace

std::string Sampler::exposition(bool openmetrics, std::string_view more) const {
  std::string out;
  out.reserve(64 << 10);
  std::string_view family;
  // A source that fell silent shows no value rather than an old one; the longest period is a few
  // minutes.
  const Ns newer_than = now() - 600 * kSecond;
  store().with([&](SeriesTable& t) {
    t.visit_latest(newer_than, [&](const SeriesInfo& s, Ns, int64_t raw) {
      if (s.name != family) append_family(out, s, openmetrics);
      family = s.name;
      out += s.name;
      if (!s.labels.empty()) out.append("{").append(s.labels).append("}");
      out += ' ';
      append_decimal(out, raw, s.metric->scale);
      out += '\n';
    });
    return 0;
  });
  append_own(out, states(), store(), openmetrics);
  out += more;
  if (openmetrics) out += "# EOF\n";
  return out;
}

void Sampler::write_metrics(const std::function<bool(std::string_view)>& sink, Ns from) const {
  std::string out, family;
  bool good = true;
  const std::string instance = fmt::format("instance=\"{}\"", world().host);
  store().with([&](SeriesTable& t) {
    t.visit(
        from, [&](const SeriesInfo& s, std::span<const Ns> times, std::span<const int64_t> raw) {
          if (!good) return;
          if (s.name != family) append_family(out, s, true);
          family = s.name;
          const std::string head =
              fmt::format("{}{{{}{}{}}} ", s.name, instance, s.labels.empty() ? "" : ",", s.labels);
          for (size_t i = 0; i < times.size(); ++i) {
            out += head;
            append_decimal(out, raw[i], s.metric->scale);
            out += ' ';
            append_decimal(out, times[i], kSecond);
            out += '\n';
          }
          if (out.size() > (256 << 10)) {
            good = sink(out);
            out.clear();
          }
        });
    return 0;
  });
  out += "# EOF\n";
  if (good) sink(out);
}

Status Sampler::write_bundle(const std::string& directory, Ns from) const {
  OutFile metrics(directory + "/metrics.om");
  write_metrics([&](std::string_view text) { return metrics.write(text); }, from);
  if (auto status = metrics.close(); !status) return status;
  OutFile events(directory + "/events.jsonl");
  for (const Event& e : store().events())
    if (from == kNoTime || e.start >= from) events.write(event_line(e));
  if (auto status = events.close(); !status) return status;
  OutFile settings(directory + "/settings.jsonl");
  for (const Setting& s : store().settings()) settings.write(setting_line(s));
  if (auto status = settings.close(); !status) return status;
  const auto entities = store().entities();
  const auto relations = store().relations();
  if (entities.empty() && relations.empty()) return Done{};
  OutFile inventory_file(directory + "/inventory.yaml");
  inventory_file.write(inventory(entities, relations));
  return inventory_file.close();
}

}  // namespace firstwait
