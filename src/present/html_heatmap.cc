// The rank x step heatmap: a cell shows the worst value under it; what is missing is hatched.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "present/html_charts.h"
#include "present/html_parts.h"
#include "present/numbers.h"

namespace firstwait {
namespace {

constexpr size_t kMostRows = 256, kBins = 7, kMostTableRows = 16;

struct Measure {
  const std::vector<Ns>* values;
  std::string title, words;
  bool from_zero;
};

// What tells most about the ranks: their input wait where that is what grew or leads, else their
// own work.
Measure choose_measure(const Report& report) {
  const RankStepMatrix& m = report.attribution.ranks;
  double growth = 0;
  Phase grown = Phase::unexplained;
  for (const auto& row : report.attribution.ledger) {
    if (is_compute(row.phase)) continue;
    const double by = row.seconds - row.before.value_or(0);
    if (by > growth) {
      growth = by;
      grown = row.phase;
    }
  }
  if (grown == Phase::input_wait && !m.input_wait.empty())
    return {&m.input_wait, "Input wait per rank", "input wait", true};
  if (!m.own_time.empty()) return {&m.own_time, "Own work per rank", "own work", false};
  return {&m.step_time, "Step time per rank", "step time", false};
}

// Rows of the matrix that are drawn as one row: all of a host, or neighbours.
struct Band {
  std::string host;
  std::vector<size_t> rows;
};

std::string host_of(const Report& report, int32_t rank) {
  const auto found = std::find(report.rank_ids.begin(), report.rank_ids.end(), rank);
  const auto i = static_cast<size_t>(found - report.rank_ids.begin());
  return i < report.rank_hosts.size() ? report.rank_hosts[i] : std::string();
}

std::vector<Band> arrange(const Report& report, bool& folded) {
  const auto& ranks = report.attribution.ranks.ranks;
  std::map<int32_t, std::string> hosts;
  for (size_t i = 0; i < report.rank_ids.size() && i < report.rank_hosts.size(); ++i)
    hosts[report.rank_ids[i]] = report.rank_hosts[i];
  std::vector<Band> by_host;
  std::map<std::string, size_t> at;
  for (size_t row = 0; row < ranks.size(); ++row) {
    const auto found = hosts.find(ranks[row]);
    const std::string host = found == hosts.end() ? "" : found->second;
    const auto [place, fresh] = at.emplace(host, by_host.size());
    if (fresh) by_host.push_back({host, {}});
    by_host[place->second].rows.push_back(row);
  }
  folded = ranks.size() > kMostRows;
  std::vector<Band> out;
  if (!folded) {
    for (const auto& band : by_host)
      for (const size_t row : band.rows) out.push_back({band.host, {row}});
    return out;
  }
  if (by_host.size() > 1 && by_host.size() <= kMostRows) return by_host;
  const size_t each = (ranks.size() + kMostRows - 1) / kMostRows;
  for (size_t row = 0; row < ranks.size(); ++row) {
    if (row % each == 0) out.push_back({"", {}});
    out.back().rows.push_back(row);
  }
  return out;
}

struct Cells {
  size_t rows = 0, columns = 0;
  std::vector<double> value;  // NaN: missing
  double low = 0, high = 0;
};

Cells fill(const Measure& measure, size_t steps, const std::vector<Band>& bands,
           const std::vector<AxisColumn>& columns) {
  Cells cells;
  cells.rows = bands.size();
  cells.columns = columns.size();
  cells.value.assign(cells.rows * cells.columns, kNaN);
  std::vector<double> known;
  for (size_t b = 0; b < bands.size(); ++b) {
    for (size_t c = 0; c < columns.size(); ++c) {
      Ns worst = kNoDuration;
      for (const size_t row : bands[b].rows)
        for (size_t i = columns[c].first; i <= columns[c].last && i < steps; ++i)
          if (const size_t at = row * steps + i; at < measure.values->size())
            worst = std::max(worst, (*measure.values)[at]);
      if (worst < 0) continue;
      cells.value[b * cells.columns + c] = static_cast<double>(worst) / 1e9;
      known.push_back(static_cast<double>(worst) / 1e9);
    }
  }
  if (known.empty()) return cells;
  // The scale ends at the 99th percentile, so that one wild cell does not whiten all others.
  const auto nth = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) * 99 / 100);
  std::nth_element(known.begin(), nth, known.end());
  cells.high = *nth;
  cells.low = measure.from_zero ? 0 : *std::min_element(known.begin(), known.end());
  return cells;
}

std::string runs_svg(const Cells& cells, const std::vector<Band>& bands,
                     const std::vector<AxisColumn>& columns, double& height) {
  std::array<std::string, kBins + 1> paths;  // the last one: missing
  const double gap = cells.rows <= 64 ? 1 : 0;
  double y = 0;
  for (size_t r = 0; r < cells.rows; ++r) {
    if (r > 0 && bands[r].host != bands[r - 1].host && cells.rows <= 64) y += 5;
    size_t from = 0;
    const auto bin = [&](size_t c) {
      const double v = cells.value[r * cells.columns + c];
      if (!std::isfinite(v)) return kBins;
      if (!(cells.high > cells.low)) return size_t{0};
      const double share = (v - cells.low) / (cells.high - cells.low);
      return std::min(kBins - 1, static_cast<size_t>(std::max(0.0, share * kBins)));
    };
    for (size_t c = 1; c <= cells.columns; ++c) {
      if (c < cells.columns && bin(c) == bin(from) && columns[c].x0 - columns[c - 1].x1 < 0.05)
        continue;
      const double width = columns[c - 1].x1 - columns[from].x0;
      paths[bin(from)] += fmt::format("M{:.1f} {:.0f}h{:.1f}v{:.0f}h{:.1f}z", columns[from].x0, y,
                                      width, 10 - gap, -width);
      from = c;
    }
    y += 10;
  }
  height = y;
  std::string out =
      "<defs><pattern id=\"missing\" width=\"6\" height=\"6\" "
      "patternUnits=\"userSpaceOnUse\"><path "
      "d=\"M0 6L6 0\" stroke=\"var(--control)\"/></pattern></defs>";
  for (size_t i = 0; i < paths.size(); ++i)
    if (!paths[i].empty())
      out += fmt::format("<path d=\"{}\" fill=\"{}\"/>", paths[i],
                         i == kBins ? "url(#missing)" : fmt::format("var(--heat{})", i));
  return out;
}

std::string host_labels(const Report& report, const std::vector<Band>& bands, double height,
                        double pixels, bool folded) {
  if (folded || bands.size() > 64) return {};
  constexpr double kLine = 13;
  std::string out;
  double y = 0, below = 0;  // below: where the last label ended, in pixels
  size_t labels = 0;
  const auto& ranks = report.attribution.ranks.ranks;
  for (size_t from = 0; from < bands.size() && labels < 12;) {
    size_t to = from + 1;
    while (to < bands.size() && bands[to].host == bands[from].host) ++to;
    const int32_t first = ranks[bands[from].rows[0]], last = ranks[bands[to - 1].rows[0]];
    const double middle = (y + 5.0 * static_cast<double>(to - from)) / height;
    const std::string& host = bands[from].host;
    // The host goes above its ranks where two lines fit; labels that would touch are left out.
    const bool two =
        !host.empty() && 10.0 * static_cast<double>(to - from) / height * pixels >= 2 * kLine;
    const double half = two ? kLine : kLine / 2;
    if (middle * pixels - half >= below) {
      out += fmt::format(
          "<span class=\"hosts\" style=\"top:calc(8px + (100% - 16px)*{:.3f} - {}px)\">{}{}</span>",
          middle, half, host.empty() ? "rank " : html_text(host) + (two ? "<br>" : " "),
          first == last ? std::to_string(first) : fmt::format("{}–{}", first, last));
      below = middle * pixels + half;
      ++labels;
    }
    y += 10.0 * static_cast<double>(to - from) + 5;
    from = to;
  }
  return out;
}

struct RankMedian {
  int32_t rank;
  double seconds;
  size_t missing;
};

std::vector<RankMedian> medians(const Report& report, const Measure& measure) {
  const RankStepMatrix& m = report.attribution.ranks;
  const Window& w = report.attribution.current;
  const size_t first = w.empty ? 0 : w.first;
  const size_t last = w.empty ? m.steps : std::min(m.steps, w.last + 1);
  std::vector<RankMedian> out;
  std::vector<Ns> known;
  for (size_t row = 0; row < m.ranks.size(); ++row) {
    known.clear();
    for (size_t i = first; i < last; ++i)
      if (const Ns v = m.at(*measure.values, row, i); v >= 0) known.push_back(v);
    double median = kNaN;
    if (!known.empty()) {
      const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
      std::nth_element(known.begin(), middle, known.end());
      median = static_cast<double>(*middle) / 1e9;
    }
    out.push_back({m.ranks[row], median, (last > first ? last - first : 0) - known.size()});
  }
  std::stable_sort(out.begin(), out.end(), [](const RankMedian& a, const RankMedian& b) {
    return (std::isfinite(a.seconds) ? a.seconds : -1) >
           (std::isfinite(b.seconds) ? b.seconds : -1);
  });
  return out;
}

std::string reading(const std::vector<RankMedian>& ranks, const Measure& measure) {
  std::vector<double> known;
  for (const auto& r : ranks)
    if (std::isfinite(r.seconds)) known.push_back(r.seconds);
  if (known.size() < 2) return {};
  const double middle = known[known.size() / 2];
  if (!(middle > 0)) return {};
  return fmt::format(
      "<b>{} ranks, spread {}.</b><br><span class=\"mid\">rank {} has the most {}, {} "
      "the median rank</span>",
      with_thousands(static_cast<int64_t>(known.size())),
      percent((known.front() - known.back()) / middle), ranks.front().rank, measure.words,
      times(known.front() / middle));
}

std::string table(const Report& report, const std::vector<RankMedian>& ranks,
                  const Measure& measure, const SecondsColumn& column) {
  std::string out = fmt::format(
      "<details><summary>{} as a table</summary><table class=\"list\"><thead><tr><th scope=\"col\">"
      "Rank</th><th scope=\"col\">Host</th><th scope=\"col\">Median {}</th><th scope=\"col\">Steps "
      "missing</th></tr></thead><tbody>",
      measure.title, measure.words);
  for (size_t i = 0; i < ranks.size() && i < kMostTableRows; ++i) {
    const std::string host = host_of(report, ranks[i].rank);
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", ranks[i].rank,
                       host.empty() ? std::string(kAbsent) : html_text(host),
                       html_text(column.with_unit(ranks[i].seconds)),
                       with_thousands(static_cast<int64_t>(ranks[i].missing)));
  }
  if (ranks.size() > kMostTableRows)
    out += fmt::format("<tr><td>and {} more in the JSON</td></tr>", ranks.size() - kMostTableRows);
  return out + "</tbody></table></details>\n";
}

}  // namespace

std::string heatmap_row_html(const Report& report, const Axis& axis) {
  const RankStepMatrix& m = report.attribution.ranks;
  if (axis.empty() || m.ranks.empty() || m.steps != report.attribution.steps.size()) return {};
  const Measure measure = choose_measure(report);
  if (measure.values->size() != m.ranks.size() * m.steps) return {};
  bool folded = false;
  const auto bands = arrange(report, folded);
  const auto columns = axis_columns(axis, report.attribution.steps, bands.size() > 64 ? 160 : 240);
  const Cells cells = fill(measure, m.steps, bands, columns);
  double height = 0;
  const std::string svg = runs_svg(cells, bands, columns, height);
  const SecondsColumn column = seconds_column(cells.high, report.job.unitless);
  const double onset = axis.onset_x(report);
  const std::string plot = fmt::format(
      "<svg viewBox=\"0 0 1000 {:.0f}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}, "
      "{} rows by {} columns, up to {}\">{}</svg>{}",
      height, measure.title, cells.rows, cells.columns, html_text(column.with_unit(cells.high)),
      svg,
      std::isfinite(onset)
          ? fmt::format("<span class=\"on\" style=\"left:{:.2f}%\"></span>", onset / 10)
          : "");
  std::string left = fmt::format("<b>{}</b><span class=\"small aside\">rank × step", measure.title);
  if (m.steps > columns.size()) left += "<br>a cell shows the worst value under it";
  if (folded)
    left += bands[0].host.empty() ? "<br>rows: the worst of neighbours"
                                  : "<br>rows: the worst rank of a host";
  const int pixels = std::clamp(static_cast<int>(height * (bands.size() <= 16   ? 1.4
                                                           : bands.size() <= 64 ? 0.7
                                                                                : 0.22)),
                                40, 560);
  left += "</span>" + host_labels(report, bands, height, pixels, folded);
  const auto ranks = medians(report, measure);
  std::string right = reading(ranks, measure);
  right +=
      fmt::format("<div class=\"ramp\" role=\"img\" aria-label=\"Colour scale from {} to {}\">",
                  html_text(column.with_unit(cells.low)), html_text(column.with_unit(cells.high)));
  for (size_t i = 0; i < kBins; ++i)
    right += fmt::format("<i style=\"background:var(--heat{})\"></i>", i);
  right += fmt::format("</div><div class=\"ends\"><span>{}</span><span>{} and more</span></div>",
                       html_text(column.text(cells.low)), html_text(column.with_unit(cells.high)));
  const bool missing = std::any_of(cells.value.begin(), cells.value.end(),
                                   [](double v) { return !std::isfinite(v); });
  if (missing) right += "<span class=\"small\">hatched: no record</span>";
  return axis_row(left, plot, pixels, right) + table(report, ranks, measure, column);
}

}  // namespace firstwait
