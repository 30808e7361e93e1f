#include "agent/otlp.h"

#include <isa-l/igzip_lib.h>

#include <protozero/pbf_writer.hpp>

namespace firstwait {
namespace {

using protozero::pbf_writer;

// Field numbers of opentelemetry/proto: common, resource, metrics, logs.
void put_attribute(pbf_writer& to, uint32_t field, std::string_view key, std::string_view value) {
  pbf_writer entry(to, field);
  entry.add_string(1, key.data(), key.size());
  pbf_writer any(entry, 2);
  any.add_string(1, value.data(), value.size());
}

void put_resource(pbf_writer& to, const std::string& host) {
  pbf_writer resource(to, 1);
  put_attribute(resource, 1, "service.name", "firstwait-agent");
  put_attribute(resource, 1, "service.instance.id", host);
  put_attribute(resource, 1, "host.name", host);
}

void put_scope(pbf_writer& to) {
  pbf_writer scope(to, 1);
  scope.add_string(1, "firstwait");
}

// `a="x",b="y"` with its escapes undone.
std::vector<std::pair<std::string, std::string>> labels_of(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  for (size_t at = 0; at < text.size();) {
    const size_t equals = text.find("=\"", at);
    if (equals == std::string_view::npos) break;
    auto& [key, value] = out.emplace_back(text.substr(at, equals - at), "");
    for (at = equals + 2; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size())
        value += text[++at] == 'n' ? '\n' : text[at];
      else
        value += text[at];
    }
    at += 2;  // quote and comma
  }
  return out;
}

}  // namespace

std::string otlp_metrics(const Sampler& sampler, const SeriesTable::Progress& seen,
                         const SeriesTable::Progress& to) {
  std::string request;
  pbf_writer root(request);
  bool any = false;
  {
    pbf_writer resource_metrics(root, 1);
    put_resource(resource_metrics, sampler.world().host);
    pbf_writer scope_metrics(resource_metrics, 2);
    put_scope(scope_metrics);
    // Series of one metric come one after another: their points are gathered until the name
    // changes.
    std::string name, points;
    const Metric* metric = nullptr;
    const auto flush = [&] {
      if (points.empty()) return;
      pbf_writer m(scope_metrics, 2);
      m.add_string(1, name);
      std::string help(metric->help);
      m.add_string(2, help);
      const bool counter = metric->kind == MetricKind::counter;
      std::string data = points;
      if (counter) {
        pbf_writer sum(data);
        sum.add_enum(2, 2);  // cumulative
        sum.add_bool(3, true);
      }
      m.add_message(counter ? 7 : 5, data);
      points.clear();
    };
    sampler.store().with([&](SeriesTable& t) {
      t.visit(seen, to,
              [&](const SeriesInfo& s, std::span<const Ns> times, std::span<const int64_t> raw) {
                if (s.name != name) flush();
                name = s.name;
                metric = s.metric;
                const auto labels = labels_of(s.labels);
                for (size_t i = 0; i < times.size(); ++i) {
                  any = true;
                  pbf_writer list(points);
                  pbf_writer point(list, 1);
                  point.add_fixed64(3, static_cast<uint64_t>(times[i]));
                  if (s.metric->scale == 1)
                    point.add_sfixed64(6, raw[i]);
                  else
                    point.add_double(
                        4, static_cast<double>(raw[i]) / static_cast<double>(s.metric->scale));
                  for (const auto& [key, value] : labels) put_attribute(point, 7, key, value);
                }
              });
      return 0;
    });
    flush();
  }
  return any ? request : std::string();
}

std::string otlp_logs(const std::string& host, const std::vector<Event>& events,
                      const std::vector<Setting>& settings) {
  if (events.empty() && settings.empty()) return {};
  std::string request;
  pbf_writer root(request);
  {
    pbf_writer resource_logs(root, 1);
    put_resource(resource_logs, host);
    pbf_writer scope_logs(resource_logs, 2);
    put_scope(scope_logs);
    const auto record = [&](Ns time, std::string_view name, std::string_view entity, auto more) {
      pbf_writer log(scope_logs, 2);
      if (time != kNoTime && time > 0) log.add_fixed64(1, static_cast<uint64_t>(time));
      put_attribute(log, 6, "event.name", name);
      put_attribute(log, 6, "firstwait.entity", entity);
      more(log);
    };
    for (const Event& e : events)
      record(e.start, e.kind, e.entity, [&](pbf_writer& log) {
        if (e.end != kNoTime) put_attribute(log, 6, "firstwait.end", std::to_string(e.end));
        for (const auto& [key, value] : e.attributes) put_attribute(log, 6, key, value);
      });
    for (const Setting& s : settings)
      record(s.time, "setting", s.entity, [&](pbf_writer& log) {
        put_attribute(log, 6, "key", s.key);
        put_attribute(log, 6, "value", s.value);
        put_attribute(log, 6, "source", s.source);
      });
  }
  return request;
}

std::string gzip(std::string_view text) {
  std::string out(text.size() + text.size() / 8 + 1024, '\0');
  std::string level(ISAL_DEF_LVL1_DEFAULT, '\0');
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.level = 1;
  stream.level_buf = reinterpret_cast<uint8_t*>(level.data());
  stream.level_buf_size = static_cast<uint32_t>(level.size());
  stream.end_of_stream = 1;
  stream.flush = NO_FLUSH;
  stream.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uint32_t>(text.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  if (isal_deflate(&stream) != COMP_OK || stream.internal_state.state != ZSTATE_END) return {};
  out.resize(stream.total_out);
  return out;
}

}  // namespace firstwait
