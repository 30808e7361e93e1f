// The report as one page: one file, no request, nothing executed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "present/html_charts.h"
#include "present/html_parts.h"
#include "present/html_sections.h"
#include "present/numbers.h"
#include "present/present.h"
#include "present/wording.h"

namespace firstwait {
namespace {

std::string meta_line(const Report& r) {
  std::string text = "Firstwait report";
  if (r.start != kNoTime) {
    text += " · " + utc_date(r.start) + ", " + utc_clock(r.start);
    if (r.end != kNoTime) text += " to " + utc_clock(r.end);
    text += " UTC";
  }
  if (const auto subject = subject_line(r); !subject.empty()) text += " · " + subject;
  return text;
}

std::string state_line(const Report& r) {
  Sign sign = Sign::unobserved;
  std::string_view word;
  switch (tone_of(r)) {
    case Tone::slow:
      sign = names_origin(r) ? Sign::slow : Sign::suspect;
      word = "Slow";
      break;
    case Tone::undetermined:
      word = "Undetermined";
      break;
    case Tone::healthy:
      sign = Sign::clear;
      word = "Nothing waits";
      break;
    case Tone::cannot_judge:
      word = "Cannot judge";
      break;
  }
  std::string out =
      fmt::format("<div class=\"state\"><span class=\"pill\">{}{}</span>", sign_svg(sign), word);
  const auto& onset = r.attribution.onset;
  if (onset && onset->time != kNoTime && r.start != kNoTime) {
    out += fmt::format("<span>since {} UTC", utc_clock(onset->time));
    if (r.end != kNoTime && r.end > onset->time)
      out += ", " + firstwait::seconds(
                        (static_cast<double>(r.end) - static_cast<double>(onset->time)) / 1e9);
    out += "</span>";
  }
  if (r.attribution.pattern.kind != PatternKind::none)
    out += fmt::format("<span>pattern: {}</span>",
                       kPatternNames[static_cast<size_t>(r.attribution.pattern.kind)]);
  if (names_origin(r) && !r.findings[0].owner.empty())
    out += fmt::format("<span>owner: {}</span>", html_text(r.findings[0].owner));
  return out + "</div>";
}

std::string certainty_line(const Report& r) {
  const Certainty c = certainty(r);
  std::string out = "<p class=\"sure\"><span>";
  if (!c.percent.empty()) {
    const int on = std::clamp(static_cast<int>(r.findings[0].confidence * 5), 0, 5);
    out += "<span class=\"meter\" aria-hidden=\"true\">";
    for (int i = 0; i < 5; ++i) out += i < on ? "<i class=\"on\"></i>" : "<i></i>";
    out += fmt::format("</span><b>{}</b>, {}", html_text(c.word), c.percent);
  } else if (!contains_ignoring_case(r.headline, c.word)) {
    out += "<b>" + html_text(c.word) + "</b>";
  }
  out += "</span>";
  if (const auto rivals = rivals_sentence(r); !rivals.empty())
    out +=
        fmt::format("<span>{}. <a href=\"#why-not\">Why not those?</a></span>", html_text(rivals));
  out += fmt::format("<span class=\"dim\">Evidence: {}</span></p>",
                     kEvidenceLevelNames[static_cast<size_t>(r.attribution.level)]);
  return out;
}

std::string short_chain(const Report& r) {
  if (r.findings.empty() || tone_of(r) == Tone::healthy) return {};
  const auto& chain = r.findings[0].verdict.chain;
  if (chain.empty()) return {};
  std::string out = "<ol class=\"path\" aria-label=\"From symptom to origin\">";
  constexpr size_t kMost = 6;
  const size_t from = chain.size() > kMost ? chain.size() - kMost : 0;
  for (size_t i = from; i < chain.size(); ++i) {
    const bool ring = i + 1 == chain.size() && names_origin(r);
    std::string under = chain[i].value;
    if (!chain[i].where.empty()) under += (under.empty() ? "" : ", ") + chain[i].where;
    out += fmt::format("<li{}><i class=\"dot\"></i><b>{}</b>{}</li>", ring ? " class=\"ring\"" : "",
                       html_text(chain[i].what), html_text(under));
  }
  return out + "</ol>";
}

std::string figure(std::string_view name, const std::string& big, const std::string& under) {
  const size_t blank = big.find(' ');
  const std::string number = html_text(big.substr(0, blank));
  const std::string unit =
      blank == std::string::npos ? "" : " <small>" + html_text(big.substr(blank + 1)) + "</small>";
  return fmt::format("<div><dt>{}</dt><dd class=\"big\">{}{}</dd><dd class=\"x\">{}</dd></div>",
                     name, number, unit, html_text(under));
}

std::string figures(const Report& r) {
  const double now = step_seconds(r);
  const auto before = baseline_seconds(r);
  const SecondsColumn column = seconds_column(std::fmax(now, before.value_or(0)), r.job.unitless);
  std::string under = !before ? "no baseline to compare with"
                      : r.attribution.baseline_kind == BaselineKind::peers
                          ? column.with_unit(*before) + " without what comes late"
                          : "was " + column.with_unit(*before);
  if (before && r.attribution.slowdown_ci.known())
    under += " (" + times(r.attribution.slowdown_ci) + ")";
  std::string out = "<dl class=\"figs\">" + figure("Step time", column.with_unit(now), under);

  const auto busy = std::find_if(r.symptoms.begin(), r.symptoms.end(),
                                 [](const Symptom& s) { return s.signal == "gpu_utilization"; });
  if (busy != r.symptoms.end() && busy->now) {
    out += figure("GPU busy", quantity_text(*busy->now, busy->unit),
                  busy->before ? "was " + quantity_text(*busy->before, busy->unit) : busy->shape);
  } else {
    out += figure(
        "Computing, of each step", percent(r.attribution.productive_fraction),
        std::isfinite(r.attribution.productive_fraction) ? "productive fraction" : "not measured");
  }
  const std::string lost = lost_text(r);
  out +=
      figure("Lost so far", lost.empty() ? std::string(kAbsent) : lost,
             !lost.empty()                                                     ? ""
             : !r.findings.empty() && r.findings[0].cost_gpu_hours.has_value() ? "under 0.1 GPU h"
                                                                               : "not known");
  const Action* best = nullptr;
  if (!r.findings.empty() && tone_of(r) != Tone::healthy)
    for (const auto& a : r.findings[0].actions) {
      const double reach = std::isfinite(a.speedup.hi) ? a.speedup.hi : a.speedup.lo;
      const double so_far = best == nullptr                   ? 0
                            : std::isfinite(best->speedup.hi) ? best->speedup.hi
                                                              : best->speedup.lo;
      if (std::isfinite(reach) && reach > so_far) best = &a;
    }
  if (best == nullptr) {
    out += figure("Best fix, predicted", std::string(kAbsent), "no prediction");
  } else {
    // "at most 1.66×" is one figure, not a number and its unit.
    out += fmt::format(
        "<div><dt>Best fix, predicted</dt><dd class=\"big\">{}</dd><dd class=\"x\">{} <a "
        "href=\"#actions\">{} in all</a></dd></div>",
        html_text(times(best->speedup)), html_text(best->text), r.findings[0].actions.size());
  }
  return out + "</dl>";
}

std::string verdict(const Report& r) {
  const Headline parts = headline_parts(r, false);
  std::string_view tone;
  switch (tone_of(r)) {
    case Tone::slow:
      tone = names_origin(r) ? "slow" : "maybe";
      break;
    case Tone::healthy:
      tone = "well";
      break;
    default:
      tone = "open";
      break;
  }
  std::string reason = html_text(parts.reason);
  if (names_origin(r) && !reason.empty()) reason = "<em>" + reason + "</em>";
  return fmt::format(
      "<section class=\"card verdict {}\" id=\"verdict\" aria-label=\"Verdict\"><div "
      "class=\"say\">{}"
      "<h2>{}{}</h2>{}{}</div>{}</section>\n",
      tone, state_line(r), html_text(parts.claim), reason, certainty_line(r), short_chain(r),
      figures(r));
}

std::string checklist(const Report& r) {
  if (r.checklist.empty()) return {};
  std::string out = "<ol class=\"card seven\" aria-label=\"Seven-step checklist\">";
  for (const auto& c : r.checklist) {
    const bool here = c.begins_here && names_origin(r);
    const Sign sign = here                               ? Sign::origin
                      : c.status == CheckStatus::suspect ? Sign::suspect
                      : c.status == CheckStatus::clear   ? Sign::clear
                                                         : Sign::unobserved;
    const std::string_view style = here                               ? "origin"
                                   : c.status == CheckStatus::suspect ? "suspect"
                                   : c.status == CheckStatus::clear   ? "clear"
                                                                      : "open";
    const std::string_view word = here                               ? "Begins here"
                                  : c.status == CheckStatus::suspect ? "Suspect"
                                  : c.status == CheckStatus::clear   ? "Clear"
                                                                     : "Unobserved";
    out +=
        fmt::format("<li><span>{} {}</span><b class=\"st {}\">{}{}</b><br>{}</li>", c.step,
                    html_text(capital(c.name)), style, sign_svg(sign), word, html_text(c.summary));
  }
  return out + "</ol>\n";
}

std::string one_axis(const Report& r) {
  const Axis axis(r);
  const std::string rows = ledger_row_html(r, axis) + heatmap_row_html(r, axis) +
                           lane_rows_html(r, axis) + event_row_html(r, axis);
  if (rows.empty()) return {};
  return "<section class=\"card long\"><div class=\"hd\"><h2>Where each step’s time goes</h2><span "
         "class=\"small\">critical path; sums to the measured step time</span></div>\n" +
         rows + (axis.empty() ? std::string() : tick_row_html(r, axis)) + "</section>\n";
}

}  // namespace

std::string html_report(const Report& r) {
  const bool slow = tone_of(r) == Tone::slow || r.attribution.pattern.kind != PatternKind::none;
  const std::string title =
      slow ? "Why " + job_title(r) + " is slow" : "How " + job_title(r) + " spends its time";
  std::string out = html_head(title);
  out += fmt::format("<h1>{}</h1><p class=\"meta\">{}</p>\n", html_text(title),
                     html_text(meta_line(r)));
  out += verdict(r) + checklist(r) + one_axis(r);
  out += section_chain(r) + section_also_seen(r) + section_actions(r) + section_evidence(r);
  out += section_findings(r) + section_rivals(r) + section_signals(r) + section_next(r);
  out += section_input(r);
  std::string notes = "<span>schema firstwait.report/1</span>";
  if (std::isfinite(r.attribution.replay_error))
    notes +=
        fmt::format("<span>replay error {}</span>", percent(std::abs(r.attribution.replay_error)));
  return out + html_foot(json_report(r), notes);
}

}  // namespace firstwait
