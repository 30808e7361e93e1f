#include "present/html_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "present/html_parts.h"
#include "present/numbers.h"
#include "present/wording.h"

namespace firstwait {
namespace {

// Where lists are cut; the JSON inside the page has all.
constexpr size_t kMostEvidence = 12, kMostActions = 8, kMostRefuted = 24, kMostUntested = 14,
                 kMostFindings = 8, kMostSeen = 12, kMostSources = 16, kMostHealth = 10,
                 kMostSignals = 16, kMostNext = 8;

std::string more_row(size_t total, size_t shown, int columns) {
  if (total <= shown) return {};
  return fmt::format("<tr><td class=\"dim\" colspan=\"{}\">and {} more in the JSON</td></tr>",
                     columns, with_thousands(static_cast<int64_t>(total - shown)));
}

std::string sentence_list(const std::vector<std::string>& items, size_t most) {
  std::string out = "<ul class=\"pad\">";
  for (size_t i = 0; i < items.size() && i < most; ++i)
    out += "<li>" + html_text(items[i]) + "</li>";
  if (items.size() > most)
    out += fmt::format("<li class=\"dim\">and {} more in the JSON</li>", items.size() - most);
  return out + "</ul>";
}

// The part of the 1x to `top` scale that an interval covers, in per cent; a side that is not known
// is open.
struct Extent {
  double left, width;
  bool open;
};
Extent extent(const Interval& speedup, double top) {
  const auto place = [top](double v) { return std::clamp((v - 1) / (top - 1), 0.0, 1.0) * 100; };
  const bool lo = std::isfinite(speedup.lo), hi = std::isfinite(speedup.hi);
  const double left = lo ? place(speedup.lo) : 0, right = hi ? place(speedup.hi) : 100;
  return {left, std::max(right - left, 1.0), !lo || !hi};
}

std::string action_item(const Action& a, const std::string& mark, double top) {
  const bool useless = is_useless(a);
  std::string out = fmt::format(
      "<li class=\"act{}\"><div class=\"t\"><span class=\"no\">{}</span><div><b>{}</b> <span "
      "class=\"code\">{}</span></div></div>",
      useless ? " none" : "", mark, html_text(a.text), html_text(a.id));
  if (std::isfinite(a.speedup.lo) || std::isfinite(a.speedup.hi)) {
    const Extent e = extent(a.speedup, top);
    out += fmt::format(
        "<div class=\"b\" aria-hidden=\"true\"><i{} "
        "style=\"left:{:.1f}%;width:{:.1f}%\"></i></div>",
        e.open ? " class=\"open\"" : "", e.left, e.width);
  }
  out +=
      fmt::format("<div class=\"g\"><span>predicted <b>{}</b></span>", html_text(times(a.speedup)));
  if (!a.then_bound_by.empty())
    out += fmt::format("<span class=\"mid\">then bound by {}</span>", html_text(a.then_bound_by));
  if (!a.assumption.empty())
    out += fmt::format("<span class=\"mid\">assumes {}</span>", html_text(a.assumption));
  if (!a.caution.empty()) out += fmt::format("<span>Caution: {}</span>", html_text(a.caution));
  return out + "</div></li>";
}

}  // namespace

std::string section_chain(const Report& r) {
  const std::string change = change_before_onset(r);
  const bool has_chain =
      !r.findings.empty() && tone_of(r) != Tone::healthy && !r.findings[0].verdict.chain.empty();
  if (!has_chain && change.empty()) return {};
  std::string body;
  if (has_chain) {
    const auto& chain = r.findings[0].verdict.chain;
    body += "<ol class=\"down\">";
    for (size_t i = 0; i < chain.size() && i < 12; ++i) {
      const bool ring = i + 1 == chain.size() && names_origin(r);
      body += fmt::format(
          "<li{}><i class=\"dot\"></i><div><b>{}</b><span class=\"small\">{}</span></div><div "
          "class=\"val\">{}</div></li>",
          ring ? " class=\"ring\"" : "", html_text(chain[i].what), html_text(chain[i].where),
          html_text(chain[i].value));
    }
    body += "</ol>";
  }
  if (!change.empty()) body += "<p class=\"pad mid\">" + html_text(change) + ".</p>";
  return html_card(has_chain && names_origin(r) ? "From symptom to origin" : "What is seen", "",
                   body);
}

std::string section_also_seen(const Report& r) {
  auto lines = also_seen(r);
  std::string out;
  if (const auto replay = what_if_lines(r); !replay.empty())
    out += html_card("Without stragglers", "what-if replay", sentence_list(replay, kMostSeen));
  if (!lines.empty())
    out += html_card("Also seen", "accuses nobody", sentence_list(lines, kMostSeen));
  return out;
}

std::string section_actions(const Report& r) {
  if (r.findings.empty() || tone_of(r) == Tone::healthy || r.findings[0].actions.empty()) return {};
  const auto& actions = r.findings[0].actions;
  double reach = 1;
  for (const auto& a : actions)
    for (const double v : {a.speedup.lo, a.speedup.hi})
      if (std::isfinite(v)) reach = std::max(reach, v);
  const double top = reach <= 5 ? 5 : 1 + std::ceil((reach - 1) / 4) * 4;
  std::string body = "<div class=\"scale\" aria-hidden=\"true\">";
  for (int i = 0; i <= 4; ++i)
    body += fmt::format("<span style=\"left:{}%\">{}×</span>", i * 25,
                        three_digits(1 + i * (top - 1) / 4));
  body += "</div><ol>";
  int number = 0;
  for (size_t i = 0; i < actions.size() && i < kMostActions; ++i)
    body += action_item(actions[i], is_useless(actions[i]) ? "×" : std::to_string(++number), top);
  body += "</ol>";
  if (actions.size() > kMostActions)
    body += fmt::format("<p class=\"pad dim\">and {} more in the JSON</p>",
                        actions.size() - kMostActions);
  return html_card("What helps, and what binds next", "gains are not added up", body, "actions");
}

std::string section_evidence(const Report& r) {
  if (r.findings.empty() || r.findings[0].verdict.evidence.empty()) return {};
  const auto& rows = r.findings[0].verdict.evidence;
  const auto supporting = static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const EvidenceRow& e) { return e.supports; }));
  std::string body = "<table class=\"list\"><tbody>";
  for (size_t i = 0; i < rows.size() && i < kMostEvidence; ++i) {
    const EvidenceRow& e = rows[i];
    std::string source = e.metric;
    if (!e.entity.empty()) source += (source.empty() ? "" : " · ") + e.entity;
    body += fmt::format("<tr><td style=\"width:96px\"><span class=\"{0}\">{0}</span></td><td>{1}",
                        e.supports ? "for" : "against", html_text(e.text));
    if (!source.empty()) body += "<div class=\"code\">" + html_text(source) + "</div>";
    body += fmt::format("</td><td class=\"num\"><b>{}</b></td></tr>", html_text(evidence_value(e)));
  }
  body += more_row(rows.size(), kMostEvidence, 3) + "</tbody></table>";
  return html_card("Evidence",
                   fmt::format("{} for, {} against", supporting, rows.size() - supporting), body);
}

std::string section_findings(const Report& r) {
  const size_t from = names_origin(r) || tone_of(r) == Tone::healthy ? 1 : 0;
  if (r.findings.size() <= from) return {};
  std::string body =
      "<table class=\"list\"><thead><tr><th scope=\"col\">Confidence</th><th "
      "scope=\"col\">Cause</th><th "
      "scope=\"col\">Where</th><th scope=\"col\" class=\"num\">Cost per "
      "step</th></tr></thead><tbody>";
  const size_t shown = std::min(r.findings.size(), from + kMostFindings);
  for (size_t i = from; i < shown; ++i) {
    const Finding& f = r.findings[i];
    const double cost = f.verdict.effect ? f.verdict.effect->seconds_per_step : kNaN;
    body += fmt::format(
        "<tr><td><b>{}</b></td><td>{}<div class=\"code\">{}</div></td><td>{}</td><td "
        "class=\"num\">{}</td></tr>",
        confidence_text(f.confidence), html_text(f.title), html_text(f.cause),
        html_text(f.verdict.where.empty() ? std::string(kAbsent) : comma_text(f.verdict.where, 3)),
        html_text(r.job.unitless ? three_digits(cost) : firstwait::seconds(cost)));
  }
  body += more_row(r.findings.size(), shown, 4) + "</tbody></table>";
  return html_card(from == 1 ? "Also found" : "What remains possible", "", body);
}

std::string section_rivals(const Report& r) {
  if (r.ruled_out.empty() && r.untested.empty()) return {};
  std::string body =
      "<div class=\"wide\"><table class=\"list rivals\"><thead><tr><th scope=\"col\">Rival</th><th "
      "scope=\"col\">Seen, or missing</th><th scope=\"col\">Result</th></tr></thead><tbody>";
  for (size_t i = 0; i < r.ruled_out.size() && i < kMostRefuted; ++i)
    body += fmt::format(
        "<tr><td class=\"code\">{}</td><td>{}</td><td><span "
        "class=\"st\">{}Refuted</span></td></tr>",
        html_text(r.ruled_out[i].cause), html_text(refusal(r.ruled_out[i])),
        sign_svg(Sign::refuted));
  body += more_row(r.ruled_out.size(), kMostRefuted, 3);
  const auto untested = untested_by_relevance(r);
  for (size_t i = 0; i < untested.size() && i < kMostUntested; ++i)
    body += fmt::format(
        "<tr><td class=\"code\">{}</td><td>{}</td><td><span "
        "class=\"st\">{}Untested</span>{}</td></tr>",
        html_text(untested[i]->cause),
        html_text(untested[i]->needs.empty() ? std::string(kAbsent)
                                             : "needs " + comma_text(untested[i]->needs, 6)),
        sign_svg(Sign::unobserved),
        untested[i]->relevant ? "<div class=\"small\">could matter here</div>" : "");
  body += more_row(untested.size(), kMostUntested, 3) + "</tbody></table></div>";
  return html_card("Why not something else", rivals_sentence(r), body, "why-not");
}

std::string section_signals(const Report& r) {
  if (r.symptoms.empty() && !std::isfinite(r.attribution.productive_fraction)) return {};
  std::string body = "<table class=\"list\"><tbody>";
  for (size_t i = 0; i < r.symptoms.size() && i < kMostSignals; ++i) {
    const Symptom& s = r.symptoms[i];
    body +=
        fmt::format("<tr><td>{}</td><td class=\"mid\">{}</td><td class=\"num\"><b>{}</b></td></tr>",
                    html_text(signal_words(s.signal)), html_text(s.shape),
                    html_text(change_text(s.before, s.now, s.unit)));
  }
  body += more_row(r.symptoms.size(), kMostSignals, 3);
  if (std::isfinite(r.attribution.productive_fraction))
    body += fmt::format(
        "<tr><td>Computing</td><td class=\"mid\">share of each step</td><td "
        "class=\"num\"><b>{}</b></td></tr>",
        percent(r.attribution.productive_fraction));
  return html_card("Signals", "before → now", body + "</tbody></table>");
}

std::string section_next(const Report& r) {
  std::vector<std::string> lines;
  for (const auto& n : r.next_measurements)
    lines.push_back(n.text + (n.decides.empty() ? "" : ": decides " + list_text(n.decides, 6)));
  std::string out;
  if (!lines.empty()) out += html_card("Measure next", "", sentence_list(lines, kMostNext));
  if (const auto line = recovery_line(r); !line.empty())
    out += html_card("Recovery", "", "<p class=\"pad\">" + html_text(line) + ".</p>");
  return out;
}

std::string section_input(const Report& r) {
  std::string body = "<table class=\"list\"><tbody>";
  for (size_t i = 0; i < r.sources.size() && i < kMostSources; ++i) {
    const Source& s = r.sources[i];
    const std::string note =
        s.note.empty()
            ? with_thousands(static_cast<int64_t>(std::min<uint64_t>(s.rows, INT64_MAX))) +
                  (s.rows == 1 ? " row" : " rows")
            : s.note;
    body +=
        fmt::format("<tr><td><b>{}</b></td><td class=\"mid\">{}</td><td class=\"num\">{}</td></tr>",
                    html_text(s.path), html_text(s.importer), html_text(note));
  }
  body += more_row(r.sources.size(), kMostSources, 3) + "</tbody></table>";
  if (r.sources.empty()) body = "<p class=\"pad\">No file could be read.</p>";
  std::string out = html_card("What was read", input_summary(r), body);
  if (const auto health = html_health(r.input_health, kMostHealth); !health.empty())
    out += html_card("What is missing or damaged, and the remedy", "", health);
  return out;
}

}  // namespace firstwait
