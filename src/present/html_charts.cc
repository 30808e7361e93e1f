#include "present/html_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "present/html_parts.h"
#include "present/numbers.h"
#include "present/wording.h"

namespace firstwait {
namespace {

constexpr size_t kLedgerColumns = 600, kLaneColumns = 240, kMostLanes = 10, kMostMarks = 80;

std::string onset_line(const Report& report, const Axis& axis) {
  const double at = axis.onset_x(report);
  if (!std::isfinite(at)) return {};
  return fmt::format("<span class=\"on\" style=\"left:{:.2f}%\"></span>", at / 10);
}

// Phases in drawing order: computing below, then other work, unexplained, waiting on top.
constexpr std::array<Phase, kPhases> kStack = {
    Phase::backward, Phase::forward,    Phase::optimizer,  Phase::h2d,        Phase::host,
    Phase::gc,       Phase::logging,    Phase::compile,    Phase::evaluation, Phase::unexplained,
    Phase::p2p,      Phase::checkpoint, Phase::collective, Phase::input_wait};

// The area between two levels over all columns, as one path; levels in units of the chart's height
// (0 at the top).
std::string band(const std::vector<AxisColumn>& columns, const std::vector<double>& lower,
                 const std::vector<double>& upper) {
  std::string d;
  const auto flush = [&](size_t from, size_t to) {
    d += fmt::format("M{:.1f} {:.1f}", columns[from].x0, upper[from]);
    for (size_t i = from; i < to; ++i) d += fmt::format("V{:.1f}H{:.1f}", upper[i], columns[i].x1);
    for (size_t i = to; i-- > from;) d += fmt::format("V{:.1f}H{:.1f}", lower[i], columns[i].x0);
    d += "Z";
  };
  size_t from = 0;
  for (size_t i = 1; i <= columns.size(); ++i) {
    if (i < columns.size() && columns[i].x0 - columns[i - 1].x1 < 0.05) continue;
    flush(from, i);
    from = i;
  }
  return d;
}

std::string hatch_definitions(const std::vector<Phase>& phases) {
  std::string out;
  for (const Phase p : phases)
    if (phase_is_hatched(p))
      out += fmt::format(
          "<pattern id=\"hatch-{}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><path "
          "d=\"M0 0h8v8H0z\" fill=\"{}\"/><path d=\"M0 8L8 0\" stroke=\"var(--panel)\"/></pattern>",
          name(p), phase_colour(p));
  return out.empty() ? out : "<defs>" + out + "</defs>";
}

std::string phase_fill(Phase p) {
  return phase_is_hatched(p) ? fmt::format("url(#hatch-{})", name(p)) : phase_colour(p);
}

std::string ledger_table(const Report& report, const SecondsColumn& column) {
  const auto& ledger = report.attribution.ledger;
  if (ledger.empty()) return {};
  const bool compared = has_baseline(report);
  std::string out = fmt::format(
      "<table class=\"led\"><thead><tr><th scope=\"col\">{} per step</th><th scope=\"col\">{}</th>"
      "<th scope=\"col\">{}</th></tr></thead><tbody>",
      column.unit.empty() ? "time" : html_text(column.unit), compared ? "before" : "now",
      compared ? "now" : "share");
  const auto row = [&](std::string_view style, const std::string& swatch, const std::string& name,
                       double now, std::optional<double> before, double share) {
    out += fmt::format("<tr{}><td>{}{}</td><td>{}</td><td>{}</td></tr>", style, swatch, name,
                       compared ? column.text(before.value_or(kNaN)) : column.text(now),
                       compared ? column.text(now) : percent(share));
  };
  constexpr size_t kNamed = 6;
  double rest = 0, rest_before = 0, rest_share = 0;
  size_t others = 0, named = 0;
  for (const auto& l : ledger) {
    if (l.seconds == 0 && l.before.value_or(0) == 0 && l.phase != Phase::unexplained) continue;
    if (named < kNamed || l.phase == Phase::unexplained) {
      row(named == 0 ? " class=\"top\"" : "",
          fmt::format("<i class=\"sw\" style=\"background:{}\"></i>", phase_colour(l.phase)),
          phase_label(l.phase), l.seconds, l.before, l.share);
      ++named;
    } else {
      ++others;
      rest += l.seconds;
      rest_before += l.before.value_or(0);
      rest_share += l.share;
    }
  }
  if (others > 0)
    row("", "<i class=\"sw\" style=\"background:var(--line)\"></i>",
        fmt::format("{} {}", others, others == 1 ? "other" : "others"), rest, rest_before,
        rest_share);
  row(" class=\"sum\"", "", "step", step_seconds(report), baseline_seconds(report), 1);
  return out + "</tbody></table>";
}

double phase_ns(const JobSteps& s, Phase p, size_t i) {
  const auto& column = s.ledger[index(p)];
  return i < column.size() ? std::max(0.0, static_cast<double>(column[i])) : 0;
}

}  // namespace

std::string axis_row(std::string_view left, std::string_view plot, int height,
                     std::string_view right) {
  return fmt::format(
      "<div class=\"row\"><div class=\"l\">{}</div><div class=\"plot\" style=\"min-height:{}px\">{}"
      "</div><div class=\"v\">{}</div></div>\n",
      left, height, plot, right);
}

std::string ledger_row_html(const Report& report, const Axis& axis) {
  if (axis.empty()) return {};
  const JobSteps& s = report.attribution.steps;
  const auto columns = axis_columns(axis, s, kLedgerColumns);
  const double baseline = report.attribution.baseline_s;
  double top_s = std::isfinite(baseline) ? baseline : 0;
  for (const auto& c : columns)
    top_s = std::fmax(top_s, static_cast<double>(s.time[c.worst]) / 1e9);
  if (!(top_s > 0)) return {};
  top_s *= 1.06;
  const SecondsColumn column = seconds_column(top_s, report.job.unitless);
  const auto level = [&](double ns) { return 100 - ns / 1e9 / top_s * 100; };

  std::string svg;
  const double every = round_step(top_s, 4);
  for (double t = every; t < top_s; t += every)
    svg += fmt::format(
        "<path d=\"M0 {0:.1f}H1000\" stroke=\"var(--line)\" vector-effect=\"non-scaling-stroke\"/>",
        level(t * 1e9));
  std::vector<Phase> drawn;
  std::string bands;
  std::vector<double> base(columns.size(), 100), sum(columns.size(), 0);
  const bool split = std::any_of(s.ledger.begin(), s.ledger.end(),
                                 [](const auto& column_of) { return !column_of.empty(); });
  for (const Phase p : kStack) {
    std::vector<double> upper(columns.size());
    bool any = false;
    for (size_t i = 0; i < columns.size(); ++i) {
      const size_t step = columns[i].worst;
      const double ns = split                     ? phase_ns(s, p, step)
                        : p == Phase::unexplained ? static_cast<double>(s.time[step])
                                                  : 0;
      any = any || ns > 0;
      sum[i] += ns;
      upper[i] = level(sum[i]);
    }
    if (!any) continue;
    drawn.push_back(p);
    bands += fmt::format("<path d=\"{}\" fill=\"{}\"/>", band(columns, base, upper), phase_fill(p));
    base = upper;
  }
  svg = hatch_definitions(drawn) + svg + bands;
  if (std::isfinite(baseline))
    svg += fmt::format(
        "<path d=\"M0 {:.1f}H1000\" stroke=\"var(--ink)\" stroke-dasharray=\"5 4\" "
        "vector-effect=\"non-scaling-stroke\"/>",
        level(baseline * 1e9));
  std::string plot = fmt::format(
      "<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Step "
      "time along the critical path, {} steps, up to {}\">{}</svg>{}",
      with_thousands(static_cast<int64_t>(s.size())), html_text(column.with_unit(top_s / 1.06)),
      svg, onset_line(report, axis));
  for (double t = every; t < top_s; t += every)
    plot += fmt::format("<span class=\"tag\" style=\"left:4px;top:calc({:.1f}% - 14px)\">{}</span>",
                        level(t * 1e9),
                        html_text(report.job.unitless ? three_digits(t) : firstwait::seconds(t)));
  if (std::isfinite(baseline))
    plot += fmt::format(
        "<span class=\"tag\" style=\"left:22%;top:calc({:.1f}% - 17px)\">baseline {}</span>",
        level(baseline * 1e9), html_text(column.with_unit(baseline)));
  std::string left = "<b>Step time</b><span class=\"small\">along the critical path</span>";
  if (s.size() > columns.size())
    left += fmt::format(
        "<span class=\"small\"><br>each of {} columns shows the slowest of its steps</span>",
        columns.size());
  return axis_row(left, plot, 168, ledger_table(report, column));
}

namespace {

// The path of one lane: values over x; the range behind it.
struct LanePlot {
  std::string line, range;
  double top = 0;
};

struct LanePoint {
  double x, value, low, high;
};

std::vector<LanePoint> lane_points(const SignalLane& lane, const Axis& axis) {
  std::vector<LanePoint> out;
  const bool per_step = lane.time.empty();
  for (size_t i = 0; i < lane.value.size(); ++i) {
    if (!per_step && i >= lane.time.size()) break;
    const double at = per_step ? axis.x_of_step(i) : axis.x(lane.time[i]);
    if (!std::isfinite(at) || at < 0 || at > 1000 || !std::isfinite(lane.value[i])) continue;
    const double v = lane.value[i];
    out.push_back(
        {at, v, i < lane.low.size() ? lane.low[i] : v, i < lane.high.size() ? lane.high[i] : v});
  }
  return out;
}

LanePlot plot_lane(const SignalLane& lane, const Axis& axis) {
  LanePlot plot;
  auto points = lane_points(lane, axis);
  if (points.size() < 2) return plot;
  std::vector<LanePoint> kept;
  if (points.size() <= kLaneColumns) {
    kept = points;
  } else {
    // The extremes of each column stay: its first point carries the range, its line the value
    // furthest from it.
    const double width = 1000.0 / static_cast<double>(kLaneColumns);
    size_t open = SIZE_MAX;
    for (const auto& p : points) {
      const auto bucket = static_cast<size_t>(p.x / width);
      if (bucket != open || kept.empty()) {
        kept.push_back(p);
        open = bucket;
        continue;
      }
      auto& k = kept.back();
      k.value = std::max(k.value, p.value);
      k.low = std::min({k.low, p.low, p.value});
      k.high = std::max({k.high, p.high, p.value});
    }
  }
  for (const auto& p : kept)
    plot.top = std::max({plot.top, p.value, std::isfinite(p.high) ? p.high : p.value});
  if (lane.ceiling && std::isfinite(*lane.ceiling)) plot.top = std::max(plot.top, *lane.ceiling);
  if (!(plot.top > 0)) plot.top = 1;
  plot.top *= 1.08;
  const auto y = [&](double v) { return 100 - std::clamp(v / plot.top, 0.0, 1.0) * 100; };
  bool ranged = false;
  for (size_t i = 0; i < kept.size(); ++i) {
    plot.line += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", kept[i].x, y(kept[i].value));
    ranged = ranged || kept[i].low < kept[i].value || kept[i].high > kept[i].value;
  }
  if (ranged) {
    for (size_t i = 0; i < kept.size(); ++i)
      plot.range += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", kept[i].x, y(kept[i].high));
    for (size_t i = kept.size(); i-- > 0;)
      plot.range += fmt::format("L{:.1f} {:.1f}", kept[i].x, y(kept[i].low));
    plot.range += "Z";
  }
  return plot;
}

std::string lane_row(const Report& report, const Axis& axis, const SignalLane& lane) {
  const LanePlot drawn = plot_lane(lane, axis);
  std::string plot;
  const std::string value = change_text(lane.before, lane.now, lane.unit);
  if (!drawn.line.empty()) {
    plot = fmt::format(
        "<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" "
        "aria-label=\"{}: {}\">",
        html_text(lane.name), html_text(value));
    if (!drawn.range.empty())
      plot += fmt::format("<path d=\"{}\" fill=\"var(--ink3)\" opacity=\".25\"/>", drawn.range);
    if (lane.ceiling && std::isfinite(*lane.ceiling) && *lane.ceiling > 0)
      plot += fmt::format(
          "<path d=\"M0 {:.1f}H1000\" stroke=\"var(--ink2)\" stroke-dasharray=\"6 4\" "
          "vector-effect=\"non-scaling-stroke\"/>",
          100 - *lane.ceiling / drawn.top * 100);
    plot += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"var(--ink)\" stroke-width=\"1.5\" "
        "vector-effect=\"non-scaling-stroke\"/></svg>{}",
        drawn.line, onset_line(report, axis));
    if (lane.ceiling && std::isfinite(*lane.ceiling))
      plot += fmt::format("<span class=\"tag\" style=\"left:4px;top:1px\">ceiling {}</span>",
                          html_text(quantity_text(*lane.ceiling, lane.unit)));
  }
  std::string left = "<b>";
  if (lane.checklist_step > 0) left += fmt::format("<i class=\"no\">{}</i>", lane.checklist_step);
  left += html_text(lane.name) + "</b>";
  const std::string& under = lane.detail.empty() ? lane.entity : lane.detail;
  if (!under.empty()) left += fmt::format("<span class=\"small\">{}</span>", html_text(under));
  return axis_row(left, plot, 46, fmt::format("<b>{}</b>", html_text(value)));
}

bool is_change_kind(std::string_view kind) {
  return kind.ends_with("_change") || kind == "placement" || kind == "restart";
}

}  // namespace

std::string lane_rows_html(const Report& report, const Axis& axis) {
  std::string out;
  for (size_t i = 0; i < report.lanes.size() && i < kMostLanes; ++i)
    out += lane_row(report, axis, report.lanes[i]);
  if (report.lanes.size() > kMostLanes)
    out += axis_row(fmt::format("<span class=\"small\">and {} more signals</span>",
                                report.lanes.size() - kMostLanes),
                    "", 20, "");
  return out;
}

std::string event_row_html(const Report& report, const Axis& axis) {
  std::string plot, label;
  size_t shown = 0, on_axis = 0;
  std::vector<std::string> kinds;
  for (const auto& e : report.events) {
    const double at = axis.x(e.start);
    if (!std::isfinite(at) || at < 0 || at > 1000) continue;
    ++on_axis;
    if (shown >= kMostMarks) continue;
    ++shown;
    const bool change = is_change_kind(e.kind);
    const std::string_view style = e.kind == "checkpoint" ? " checkpoint"
                                   : e.kind == "epoch"    ? " epoch"
                                   : change               ? " change"
                                                          : "";
    plot += fmt::format("<span class=\"mark{}\" style=\"left:{:.2f}%\"></span>", style, at / 10);
    const std::string words = signal_words(e.kind);
    if (std::find(kinds.begin(), kinds.end(), words) == kinds.end()) kinds.push_back(words);
    if (change) {
      const bool right = at < 600;
      label = fmt::format(
          "<span style=\"{}:calc({:.2f}% + 10px);top:9px;color:var(--ink)\">{}</span>",
          right ? "left" : "right", right ? at / 10 : 100 - at / 10, html_text(event_text(e)));
    }
  }
  if (shown == 0) return {};
  std::string left = "<b>Events</b>";
  if (on_axis > shown)
    left += fmt::format("<span class=\"small\">{} of {} shown</span>", shown,
                        with_thousands(static_cast<int64_t>(on_axis)));
  return axis_row(left, plot + label, 34,
                  fmt::format("<span class=\"mid\">{}</span>", html_text(list_text(kinds, 5))));
}

std::string tick_row_html(const Report& report, const Axis& axis) {
  std::string plot;
  for (const auto& tick : axis.ticks(report))
    if (tick.x >= 0 && tick.x <= 985)
      plot += fmt::format("<span style=\"left:{:.2f}%;top:5px{}\">{}</span>", tick.x / 10,
                          tick.x > 15 ? ";transform:translateX(-50%)" : "", html_text(tick.text));
  return axis_row(fmt::format("<span class=\"small\">{}</span>", html_text(axis.unit())), plot, 26,
                  "");
}

}  // namespace firstwait
