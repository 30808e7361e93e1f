#include "present/html_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "present/numbers.h"
#include "present/utf8.h"
#include "present/wording.h"

namespace firstwait {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : clean_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

std::string html_head(std::string_view title) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      // Nothing is executed and nothing fetched, whatever a name in the input holds.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"><title>";
  out += html_text(title) + " · Firstwait report</title>\n<style>";
  out += html_style();
  out +=
      "</style></head>\n<body><a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>"
      "<header class=\"bar\"><svg width=\"26\" height=\"18\" viewBox=\"0 0 26 18\" "
      "aria-hidden=\"true\"><path d=\"M1 9h7M17 9h3m2 0h3\" stroke=\"currentColor\" "
      "stroke-width=\"2.5\"/><circle cx=\"12\" cy=\"9\" r=\"4\" fill=\"none\" "
      "stroke=\"var(--origin)\" stroke-width=\"3\"/></svg>Firstwait</header>\n<main>";
  return out;
}

std::string html_foot(std::string_view json, std::string_view notes) {
  std::string out = "<p class=\"foot\">";
  out += notes;
  out += "<span>The full report in JSON is inside this file.</span></p>\n";
  // The writer has escaped every '<': the data cannot end its element.
  out += "<script type=\"application/json\" id=\"report\">";
  out += json;
  return out += "</script></main></body></html>\n";
}

std::string sign_svg(Sign sign) {
  std::string_view shape;
  switch (sign) {
    case Sign::origin:
      shape =
          "<circle cx=\"6\" cy=\"6\" r=\"4\" fill=\"none\" stroke=\"currentColor\" "
          "stroke-width=\"3\"/>";
      break;
    case Sign::slow:
      shape = "<path d=\"M6 1l5.5 10H.5z\" fill=\"currentColor\"/>";
      break;
    case Sign::suspect:
      shape = "<path d=\"M6 1l5 5-5 5-5-5z\" fill=\"currentColor\"/>";
      break;
    case Sign::clear:
      shape =
          "<path d=\"M2 6.5L4.7 9.2 10.3 3\" fill=\"none\" stroke=\"currentColor\" "
          "stroke-width=\"2.2\"/>";
      break;
    case Sign::unobserved:
      shape =
          "<circle cx=\"6\" cy=\"6\" r=\"4.6\" fill=\"none\" stroke=\"currentColor\" "
          "stroke-width=\"1.8\" stroke-dasharray=\"2.4 2\"/>";
      break;
    case Sign::refuted:
      shape = "<path d=\"M2 2l8 8M10 2L2 10\" stroke=\"currentColor\" stroke-width=\"2\"/>";
      break;
  }
  return fmt::format(
      "<svg width=\"12\" height=\"12\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">{}</svg>", shape);
}

std::string phase_colour(Phase phase) {
  std::string token(name(phase));
  std::replace(token.begin(), token.end(), '_', '-');
  return "var(--" + token + ")";
}

bool phase_is_hatched(Phase phase) {
  return phase == Phase::p2p || phase == Phase::evaluation || phase == Phase::compile ||
         phase == Phase::gc || phase == Phase::logging;
}

std::string html_card(std::string_view title, std::string_view remark, std::string_view body,
                      std::string_view anchor) {
  std::string out = "<section class=\"card long\"";
  if (!anchor.empty()) out += fmt::format(" id=\"{}\"", anchor);
  out += fmt::format("><div class=\"hd\"><h2>{}</h2>", html_text(title));
  if (!remark.empty()) out += fmt::format("<span class=\"small\">{}</span>", html_text(remark));
  out += "</div>";
  out += body;
  return out += "</section>\n";
}

std::string html_health(const std::vector<HealthEntry>& entries, size_t most) {
  const auto sorted = health_by_severity(entries);
  if (sorted.empty()) return {};
  std::string out = "<table class=\"list\"><tbody>";
  for (size_t i = 0; i < sorted.size() && i < most; ++i) {
    const HealthEntry& e = *sorted[i];
    const std::string_view severity = e.counter->severity == Severity::info    ? "note"
                                      : e.counter->severity == Severity::error ? "error"
                                                                               : "data lost";
    out += fmt::format(
        "<tr><td><b>{}</b> <span class=\"code\">{}</span></td><td class=\"mid\">{}{}. {}</td>"
        "<td class=\"num\"><b>{}×</b></td></tr>",
        severity, html_text(e.counter->name), html_text(e.source),
        e.first_place.empty() ? "" : ", first at " + html_text(e.first_place),
        html_text(e.counter->remedy),
        with_thousands(static_cast<int64_t>(std::min<uint64_t>(e.count, INT64_MAX))));
  }
  if (sorted.size() > most)
    out += fmt::format("<tr><td class=\"dim\">and {} more in the JSON</td></tr>",
                       with_thousands(static_cast<int64_t>(sorted.size() - most)));
  return out + "</tbody></table>";
}

}  // namespace firstwait
