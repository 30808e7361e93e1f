#include "present/prediction.h"

#include <fmt/format.h>

#include <cmath>

#include "base/numbers.h"
#include "present/json_writer.h"

namespace firstwait {

std::string text_prediction(const Prediction& p) {
  std::string out = fmt::format("{}\n", p.action);
  if (std::isnan(p.speedup.hi)) {
    out += "  no prediction\n";
  } else if (std::isnan(p.speedup.lo)) {
    out += fmt::format("  predicted      at most {}\n", times(p.speedup.hi));
  } else {
    out += fmt::format("  predicted      {} to {}\n", times(p.speedup.lo), times(p.speedup.hi));
  }
  if (!p.then_bound_by.empty()) out += fmt::format("  then bound by  {}\n", p.then_bound_by);
  if (!p.assumption.empty()) out += fmt::format("  assumes        {}\n", p.assumption);
  if (!p.caution.empty()) out += fmt::format("  caution        {}\n", p.caution);
  for (const auto& c : p.ceilings) {
    if (std::isnan(c.now) && std::isnan(c.then)) continue;  // what is missing is told below
    out += fmt::format("  {:<14} {} → {} samples/s ({})\n", c.name, three_digits(c.now),
                       three_digits(c.then), c.from);
  }
  for (const auto& m : p.missing) out += fmt::format("  missing        {}\n", m);
  return out;
}

std::string json_prediction(const Prediction& p) {
  JsonWriter j;
  j.begin_object();
  j.key("schema").text("firstwait.what_if/1");
  j.key("action").text(p.action);
  j.key("speedup").begin_array().number(p.speedup.lo).number(p.speedup.hi).end_array();
  j.key("then_bound_by").text_or_null(p.then_bound_by);
  j.key("assumption").text_or_null(p.assumption);
  j.key("caution").text_or_null(p.caution);
  j.key("ceilings").begin_array();
  for (const auto& c : p.ceilings) {
    j.begin_object();
    j.key("name").text(c.name);
    j.key("now_samples_per_s").number(c.now);
    j.key("then_samples_per_s").number(c.then);
    j.key("from").text(c.from);
    j.end_object();
  }
  j.end_array();
  j.key("missing").begin_array();
  for (const auto& m : p.missing) j.text(m);
  j.end_array();
  j.end_object();
  return j.take() + "\n";
}

}  // namespace firstwait
