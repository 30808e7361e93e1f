#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/commands.h"
#include "collect/collector.h"
#include "explain/action_table.h"
#include "explain/hypothesis.h"
#include "import/importer.h"
#include "present/json_writer.h"

namespace firstwait {
namespace {

struct Row {
  std::string id, text, more;
};

// A need that is a metric's name: one word with the letters of Prometheus names.
bool is_metric(std::string_view need) {
  static constexpr std::string_view kFamilies[] = {"node_", "DCGM_", "firstwait_", "lustre_"};
  if (need.find(' ') != std::string_view::npos) return false;
  for (const auto family : kFamilies)
    if (need.starts_with(family)) return true;
  return false;
}

std::vector<Row> rows_of(const std::string& what) {
  std::vector<Row> rows;
  if (what == "importers") {
    for (const auto& e : importers())
      rows.push_back({std::string(e.module->name), std::string(e.module->summary),
                      std::string(e.module->formats)});
  } else if (what == "hypotheses") {
    for (const auto& e : hypotheses())
      rows.push_back({std::string(e.module->id), std::string(e.module->claim),
                      std::string(e.module->decides)});
  } else if (what == "actions") {
    for (const auto& table : actions())
      for (const auto& row : table.module->rows)
        rows.push_back({std::string(row.id), std::string(row.text), std::string(row.caution)});
  } else if (what == "collectors") {
    for (const auto& e : collectors()) {
      std::string more = fmt::format("reads {}", e.module->reads);
      if (!e.module->needs.empty()) more += fmt::format("; needs {}", e.module->needs);
      rows.push_back({std::string(e.module->name), std::string(e.module->what), std::move(more)});
    }
  } else if (what == "metrics") {
    std::map<std::string, std::string> users;
    for (const auto& e : hypotheses())
      for (const auto need : e.module->needs)
        if (is_metric(need)) {
          auto& list = users[std::string(need)];
          list += (list.empty() ? "" : ", ") + std::string(e.module->id);
        }
    for (auto& [metric, causes] : users) rows.push_back({metric, "decides " + causes, ""});
  }
  return rows;
}

// All that a hypothesis declares; the documentation's tables are made from this.
std::string hypotheses_json() {
  JsonWriter j;
  j.begin_array();
  for (const auto& e : hypotheses()) {
    const Hypothesis& h = *e.module;
    j.begin_object();
    j.key("id").text(h.id);
    j.key("claim").text(h.claim);
    j.key("decides").text(h.decides);
    j.key("checklist_step").integer(h.checklist_step);
    j.key("prior").number(h.prior);
    j.key("accounts_for").begin_array();
    for (const Phase p : h.accounts_for) j.text(name(p));
    j.end_array();
    j.key("needs").begin_array();
    for (const auto need : h.needs) j.text(need);
    j.end_array();
    j.key("thresholds").begin_array();
    for (const auto& t : h.thresholds) {
      j.begin_object();
      j.key("name").text(t.name);
      j.key("value").number(t.value);
      j.key("unit").text(t.unit);
      j.key("source").text(t.source);
      j.end_object();
    }
    j.end_array();
    j.key("actions").begin_array();
    for (const auto& table : actions())
      for (const auto& row : table.module->rows)
        if (std::find(row.cures.begin(), row.cures.end(), h.id) != row.cures.end()) j.text(row.id);
    j.end_array();
    j.end_object();
  }
  j.end_array();
  return j.take() + "\n";
}

// All that a collector declares; the documentation's table is made from this.
std::string collectors_json() {
  JsonWriter j;
  j.begin_array();
  for (const auto& e : collectors()) {
    const Collector& c = *e.module;
    j.begin_object();
    j.key("id").text(c.name);
    j.key("what").text(c.what);
    j.key("reads").text(c.reads);
    j.key("needs").text_or_null(c.needs);
    j.key("period_s").number(static_cast<double>(c.period) / 1e9);
    j.key("metrics").begin_array();
    for (const Metric& m : c.metrics) {
      j.begin_object();
      j.key("name").text(m.name);
      j.key("kind").text(m.kind == MetricKind::counter ? "counter"
                         : m.kind == MetricKind::gauge ? "gauge"
                                                       : "untyped");
      j.key("help").text(m.help);
      j.end_object();
    }
    j.end_array();
    j.end_object();
  }
  j.end_array();
  return j.take() + "\n";
}

}  // namespace

int list(const std::string& what, const std::string& format) {
  if (what == "hypotheses" && format == "json") return deliver(hypotheses_json(), {});
  if (what == "collectors" && format == "json") return deliver(collectors_json(), {});
  const auto rows = rows_of(what);
  std::string text;
  if (format == "json") {
    JsonWriter json;
    json.begin_array();
    for (const auto& r : rows) {
      json.begin_object();
      json.key("id").text(r.id);
      json.key("text").text(r.text);
      json.key("more").text(r.more);
      json.end_object();
    }
    json.end_array();
    text = json.take() + "\n";
  } else {
    for (const auto& r : rows) {
      text += fmt::format("{}\n    {}\n", r.id, r.text);
      if (!r.more.empty()) text += fmt::format("    {}\n", r.more);
    }
    if (rows.empty()) text = fmt::format("no {} in this build\n", what);
  }
  return deliver(text, {});
}

}  // namespace firstwait
