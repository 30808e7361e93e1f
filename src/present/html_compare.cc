// Two runs compared, as a page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "present/compare_wording.h"
#include "present/html_parts.h"
#include "present/json_writer.h"
#include "present/present.h"
#include "present/wording.h"

namespace firstwait {
namespace {

constexpr size_t kMostRows = 24, kMostDots = 300;

std::string numbers_row(std::string_view name, const std::string& swatch, double before,
                        double after, const SecondsColumn& column) {
  return fmt::format(
      "<tr><td>{}{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td "
      "class=\"num\">{}</td><td "
      "class=\"num\"><b>{}</b></td></tr>",
      swatch, name, html_text(column.with_unit(before)), html_text(column.with_unit(after)),
      html_text(column.change(before, after)),
      std::isfinite(before / after) ? html_text(times(before / after)) : "");
}

std::string step_table(const Comparison& c) {
  const SecondsColumn column = compared_column(c);
  std::string body =
      "<table class=\"list\"><thead><tr><th scope=\"col\">Per step</th><th scope=\"col\" "
      "class=\"num\">Before"
      "</th><th scope=\"col\" class=\"num\">After</th><th scope=\"col\" "
      "class=\"num\">Change</th><th "
      "scope=\"col\" class=\"num\">Before / after</th></tr></thead><tbody>";
  body += numbers_row("mean", "", c.before.mean_s, c.after.mean_s, column);
  body += numbers_row("median", "", c.before.median_s, c.after.median_s, column);
  for (const auto& p : c.phases)
    body += numbers_row(
        phase_label(p.phase),
        fmt::format("<i class=\"sw\" style=\"background:{}\"></i>", phase_colour(p.phase)),
        p.before_s.value_or(kNaN), p.after_s.value_or(kNaN), column);
  return body + "</tbody></table>";
}

std::string step_time(double seconds, bool unitless) {
  return unitless ? three_digits(seconds) : firstwait::seconds(seconds);
}

// One mark for each step on a common scale from zero; the slowest stay when there are too many.
std::string distribution(const ComparedSide& side, std::string_view name, double top,
                         bool unitless) {
  std::vector<double> steps = side.step_s;
  std::erase_if(steps, [](double s) { return !std::isfinite(s) || s < 0; });
  const size_t all = steps.size();
  std::sort(steps.begin(), steps.end());
  std::vector<double> shown;
  if (steps.size() <= kMostDots) {
    shown = steps;
  } else {
    for (size_t i = 0; i < kMostDots; ++i)
      shown.push_back(steps[(i + 1) * steps.size() / kMostDots - 1]);
  }
  std::string d;
  for (const double s : shown) d += fmt::format("M{:.1f} 20v60", s / top * 1000);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}: {} "
      "step "
      "times\"><path d=\"M0 99H1000\" stroke=\"var(--line)\" "
      "vector-effect=\"non-scaling-stroke\"/><path "
      "d=\"{}\" stroke=\"var(--ink)\" stroke-width=\"2\" opacity=\".6\" "
      "vector-effect=\"non-scaling-stroke\"/>",
      name, with_thousands(static_cast<int64_t>(all)), d);
  if (std::isfinite(side.median_s))
    svg += fmt::format(
        "<path d=\"M{:.1f} 5v90\" stroke=\"var(--link)\" stroke-width=\"2\" "
        "vector-effect=\"non-scaling-stroke\"/>",
        std::clamp(side.median_s / top, 0.0, 1.0) * 1000);
  svg += "</svg>";
  std::string left = fmt::format("<b>{}</b><span class=\"small\">{} steps", name,
                                 with_thousands(static_cast<int64_t>(all)));
  if (all > shown.size()) left += fmt::format("<br>{} drawn, the slowest among them", shown.size());
  return fmt::format(
      "<div class=\"row\"><div class=\"l\">{}</span></div><div class=\"plot\" "
      "style=\"min-height:46px\">{}</div>"
      "<div class=\"v\">median <b>{}</b></div></div>",
      left, svg, html_text(step_time(side.median_s, unitless)));
}

std::string distributions(const Comparison& c) {
  double top = 0;
  for (const auto* side : {&c.before, &c.after})
    for (const double s : side->step_s)
      if (std::isfinite(s)) top = std::max(top, s);
  if (!(top > 0)) return {};
  top *= 1.05;
  return html_card("Step times", "one mark per step, from 0 to " + step_time(top, c.unitless),
                   distribution(c.before, "Before", top, c.unitless) +
                       distribution(c.after, "After", top, c.unitless));
}

std::string sentences(const std::vector<std::string>& items) {
  std::string out = "<ul class=\"pad\">";
  for (size_t i = 0; i < items.size() && i < kMostRows; ++i)
    out += "<li>" + html_text(items[i]) + "</li>";
  if (items.size() > kMostRows)
    out += fmt::format("<li class=\"dim\">and {} more in the JSON</li>", items.size() - kMostRows);
  return out + "</ul>";
}

}  // namespace

std::string html_compare(const Comparison& c) {
  std::string out = html_head("Before and after");
  out += fmt::format(
      "<h1>Before and after</h1><p class=\"meta\">before: {}<br>after: {}</p>\n<section "
      "class=\"card verdict "
      "open\" id=\"verdict\" aria-label=\"Verdict\"><div class=\"say\"><h2>{}</h2><p "
      "class=\"sure\">{}</p></div>"
      "</section>\n",
      html_text(side_text(c.before)), html_text(side_text(c.after)),
      html_text(comparison_headline(c)), html_text(certainty_text(c)));
  out += distributions(c) + html_card("Where it changed", "mean per step", step_table(c));
  if (const auto slow = compared_outliers(c); !slow.empty())
    out += html_card("Slow steps", "", sentences(slow));
  std::vector<std::string> lines;
  for (const auto& s : c.symptoms)
    lines.push_back(signal_words(s.signal) + ": " + change_text(s.before, s.now, s.unit));
  if (!lines.empty()) out += html_card("Signals", "before → after", sentences(lines));
  lines.clear();
  for (const auto& s : c.settings) lines.push_back(setting_text(s));
  for (const auto& e : c.events) lines.push_back(event_text(e));
  if (!lines.empty())
    out += html_card("What else differs", "settings and events", sentences(lines));
  if (const auto seen = compared_observations(c); !seen.empty())
    out += html_card("Also seen", "", sentences(seen));
  if (c.predicted)
    out += html_card("Predicted", "",
                     "<p class=\"pad\">" + html_text(predicted_text(*c.predicted)) + "</p>");
  if (const auto health = html_health(c.input_health, kMostRows); !health.empty())
    out += html_card("What is missing or damaged, and the remedy", "", health);
  return out + html_foot(json_compare(c), "<span>schema firstwait.compare/1</span>");
}

}  // namespace firstwait
