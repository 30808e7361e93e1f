#include "attribute/ledger.h"

#include <algorithm>

namespace firstwait {
namespace {

constexpr double kSecond = 1e9;

double phase_mean(const JobSteps& steps, Phase p, const std::vector<size_t>& columns) {
  double sum = 0;
  for (const size_t c : columns) sum += static_cast<double>(steps.ledger[index(p)][c]);
  return columns.empty() ? 0 : sum / static_cast<double>(columns.size()) / kSecond;
}

std::vector<size_t> those_told(const StepGrid& grid, std::vector<size_t> columns) {
  std::erase_if(columns, [&](size_t c) { return c < grid.told.size() && grid.told[c] == 0; });
  return columns;
}

// Every step that a profiler saw, for a window without any.
std::vector<size_t> told_anywhere(const StepGrid& grid) {
  std::vector<size_t> columns;
  for (size_t c = 0; c < grid.columns(); ++c)
    if (const SegmentKind kind = grid.steps.segment[c];
        grid.told[c] != 0 && kind != SegmentKind::evaluation && kind != SegmentKind::checkpoint)
      columns.push_back(c);
  return columns;
}

}  // namespace

std::vector<size_t> columns_of(const JobSteps& steps, const Window& window) {
  std::vector<size_t> steady, all;
  if (window.empty) return steady;
  for (size_t c = window.first; c <= window.last && c < steps.size(); ++c) {
    all.push_back(c);
    if (steps.segment[c] == SegmentKind::steady) steady.push_back(c);
  }
  return steady.empty() ? all : steady;
}

double mean_seconds(const JobSteps& steps, const std::vector<size_t>& columns) {
  double sum = 0;
  for (const size_t c : columns) sum += static_cast<double>(steps.time[c]);
  return columns.empty() ? kNaN : sum / static_cast<double>(columns.size()) / kSecond;
}

std::vector<LedgerRow> ledger_rows(const StepGrid& grid, const Window& current,
                                   const Window& baseline) {
  const JobSteps& steps = grid.steps;
  auto now = columns_of(steps, current), past = columns_of(steps, baseline);
  std::vector<LedgerRow> rows;
  if (now.empty()) return rows;
  const double step_s = mean_seconds(steps, now);
  // Shares of the steps whose phases were recorded, of the mean step of the window.
  double scale = 1, scale_before = 1;
  if (grid.has_phases) {
    const double past_s = mean_seconds(steps, past);
    now = those_told(grid, std::move(now));
    past = now.empty() ? now : those_told(grid, std::move(past));
    if (now.empty()) now = told_anywhere(grid);
    if (now.empty()) now = columns_of(steps, current);
    const double recorded = mean_seconds(steps, now), recorded_past = mean_seconds(steps, past);
    scale = recorded > 0 ? step_s / recorded : 1;
    scale_before = recorded_past > 0 ? past_s / recorded_past : 1;
  }
  for (size_t p = 0; p < kPhases; ++p) {
    LedgerRow row;
    row.phase = static_cast<Phase>(p);
    row.seconds = scale * phase_mean(steps, row.phase, now);
    row.share = step_s > 0 ? row.seconds / step_s : 0;
    if (!past.empty()) row.before = scale_before * phase_mean(steps, row.phase, past);
    if (row.seconds > 0 || row.before.value_or(0) > 0 || row.phase == Phase::unexplained)
      rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LedgerRow& a, const LedgerRow& b) { return a.seconds > b.seconds; });
  return rows;
}

double pause_s(const StepGrid& grid, const Window& window) {
  double sum = 0;
  const auto columns = columns_of(grid.steps, window);
  for (const size_t c : columns) sum += static_cast<double>(std::max<Ns>(0, grid.pause[c]));
  return columns.empty() ? 0 : sum / static_cast<double>(columns.size()) / kSecond;
}

CollectiveSplit collective_split(const StepGrid& grid, const StepTable& table,
                                 const Window& window) {
  CollectiveSplit split;
  if (!grid.has_wait) return split;
  double wait = 0, transfer = 0;
  size_t waits = 0, transfers = 0;
  const auto columns = columns_of(grid.steps, window);
  for (size_t r = 0; r < grid.ranks.ranks.size(); ++r)
    for (const size_t c : columns) {
      const Ns w = grid.wait[r * grid.columns() + c];
      const uint32_t row = grid.row_at(r, c);
      if (w < 0 || row == kNoRow) continue;
      wait += static_cast<double>(w), ++waits;
      if (const Ns whole = table.phase(row, Phase::collective); whole >= 0)
        transfer += static_cast<double>(whole - std::min(whole, w)), ++transfers;
    }
  if (waits > 0) split.wait_s = wait / static_cast<double>(waits) / kSecond;
  if (transfers > 0) split.transfer_s = transfer / static_cast<double>(transfers) / kSecond;
  return split;
}

double compute_fraction(const StepGrid& grid, const StepTable& table, const Window& window) {
  double compute = 0, whole = 0;
  for (size_t r = 0; r < grid.ranks.ranks.size(); ++r)
    for (const size_t c : columns_of(grid.steps, window)) {
      const uint32_t row = grid.row_at(r, c);
      if (row == kNoRow) continue;
      bool known = false;
      for (const Phase p : {Phase::forward, Phase::backward, Phase::optimizer})
        if (const Ns v = table.phase(row, p); v >= 0)
          known = true, compute += static_cast<double>(v);
      if (known) whole += static_cast<double>(table.duration[row]);
    }
  return whole > 0 ? std::min(1.0, compute / whole) : kNaN;
}

}  // namespace firstwait
