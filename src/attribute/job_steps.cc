#include "attribute/job_steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "attribute/pauses.h"
#include "attribute/thresholds.h"
#include "attribute/waits.h"
#include "base/saturate.h"
#include "base/stats.h"

namespace firstwait {
namespace {

// Training and warm-up share a column: the kind then tells them apart.
int column_class(StepKind kind) {
  return kind == StepKind::evaluation ? 1 : kind == StepKind::checkpoint ? 2 : 0;
}

using Key = std::pair<int32_t, int>;

// Ranks that get a row. A hostile file with a new rank and a new step in every line would ask for
// n^2 cells: then only the ranks with the most rows stay, so that memory stays in proportion to the
// input.
std::vector<int32_t> choose_ranks(const StepTable& table, size_t columns) {
  std::map<int32_t, size_t> count;
  for (const int32_t rank : table.rank) ++count[rank];
  std::vector<std::pair<size_t, int32_t>> order;
  for (const auto& [rank, n] : count) order.emplace_back(n, rank);
  const size_t cells = std::max<size_t>(size_t{1} << 20, 16 * table.size());
  const size_t most = std::max<size_t>(1, cells / std::max<size_t>(1, columns));
  if (order.size() > most) {
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    order.resize(most);
  }
  std::vector<int32_t> ranks;
  for (const auto& [n, rank] : order) ranks.push_back(rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void place_rows(const StepTable& table, StepGrid& grid) {
  std::vector<Key> keys;
  keys.reserve(table.size());
  for (size_t i = 0; i < table.size(); ++i)
    keys.emplace_back(table.step[i], column_class(table.kind[i]));
  std::vector<Key> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const size_t columns = sorted.size();
  grid.ranks.ranks = choose_ranks(table, columns);
  grid.ranks.steps = columns;
  grid.row.assign(grid.ranks.ranks.size() * columns, kNoRow);
  grid.kind.assign(columns, StepKind::train);
  grid.epoch.assign(columns, -1);
  grid.steps.step.resize(columns);
  for (size_t c = 0; c < columns; ++c) grid.steps.step[c] = sorted[c].first;
  for (size_t i = 0; i < table.size() && i < kNoRow; ++i) {
    const auto rank =
        std::lower_bound(grid.ranks.ranks.begin(), grid.ranks.ranks.end(), table.rank[i]);
    if (rank == grid.ranks.ranks.end() || *rank != table.rank[i]) continue;
    const auto c = static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), keys[i]) -
                                       sorted.begin());
    const auto r = static_cast<size_t>(rank - grid.ranks.ranks.begin());
    grid.row[r * columns + c] = static_cast<uint32_t>(i);
    if (table.kind[i] != StepKind::train) grid.kind[c] = table.kind[i];
    if (table.epoch[i] >= 0) grid.epoch[c] = table.epoch[i];
  }
}

void find_complete(StepGrid& grid) {
  const size_t columns = grid.columns();
  std::vector<int64_t> present(columns, 0);
  for (size_t r = 0; r < grid.ranks.ranks.size(); ++r)
    for (size_t c = 0; c < columns; ++c) present[c] += grid.row_at(r, c) != kNoRow;
  const int64_t usual = median_int(present);
  grid.complete.resize(columns);
  for (size_t c = 0; c < columns; ++c) grid.complete[c] = 2 * present[c] >= usual ? 1 : 0;
}

bool any_phase(const StepTable& table) {
  for (const auto& column : table.phases)
    if (std::any_of(column.begin(), column.end(), [](Ns v) { return v >= 0; })) return true;
  return false;
}

// Time between its steps that only this rank has is its own work when it makes it later than all
// others; else it may wait there for them.
void add_own_pauses(const std::vector<Ns>& pauses, StepGrid& grid) {
  const size_t rows = grid.ranks.ranks.size(), columns = grid.columns();
  for (size_t c = 0; c < columns; ++c) {
    Ns latest = 0;
    for (size_t r = 0; r < rows; ++r)
      latest = std::max(latest, grid.ranks.own_time[r * columns + c]);
    for (size_t r = 0; r < rows; ++r) {
      const uint32_t row = grid.row_at(r, c);
      Ns& own = grid.ranks.own_time[r * columns + c];
      if (row == kNoRow || own < 0 || pauses[row] <= grid.pause[c] || grid.pause[c] < 0) continue;
      const Ns with = sat_add(own, pauses[row] - grid.pause[c]);
      if (static_cast<double>(with) >= kMinimumEffect * static_cast<double>(latest)) own = with;
    }
  }
}

// Where there mostly is time between steps, a step behind which it is not known cannot be compared.
void find_pauses(const StepTable& table, const std::vector<Ns>& pauses, StepGrid& grid) {
  const size_t columns = grid.columns();
  grid.pause.assign(columns, kNoDuration);
  for (size_t i = 0; i < grid.row.size(); ++i) {
    if (grid.row[i] == kNoRow || pauses[grid.row[i]] < 0) continue;
    Ns& least = grid.pause[i % columns];
    least = least < 0 ? pauses[grid.row[i]] : std::min(least, pauses[grid.row[i]]);
  }
  std::vector<int64_t> known;
  for (const Ns pause : grid.pause)
    if (pause >= 0) known.push_back(pause);
  if (known.empty() || static_cast<double>(median_int(known)) <
                           (kMinimumEffect - 1) * static_cast<double>(median_int(table.duration)))
    return;
  for (size_t c = 0; c < columns; ++c)
    if (grid.pause[c] < 0) grid.complete[c] = 0;
}

void fill_matrices(const StepTable& table, const std::vector<Ns>& pauses, StepGrid& grid) {
  const size_t cells = grid.row.size();
  grid.ranks.step_time.assign(cells, kNoDuration);
  grid.ranks.own_time.assign(cells, kNoDuration);
  std::vector<uint8_t> waits(grid.columns(), 0);
  for (size_t i = 0; i < grid.wait.size(); ++i)
    if (grid.wait[i] >= 0) waits[i % grid.columns()] = 1;
  const bool input = !table.phases[index(Phase::input_wait)].empty();
  if (input) grid.ranks.input_wait.assign(cells, kNoDuration);
  for (size_t i = 0; i < cells; ++i) {
    const uint32_t row = grid.row[i];
    if (row == kNoRow) continue;
    const Ns duration = table.duration[row] - std::max<Ns>(0, pauses[row]);
    const Ns wait = grid.wait.empty() ? 0 : std::clamp<Ns>(grid.wait[i], 0, duration);
    grid.ranks.step_time[i] = table.duration[row];
    // A rank that tells nothing of its step beside others that wait may have waited as well.
    if (waits[i % grid.columns()] != 0 && grid.wait[i] < 0 && !has_phases(table, row)) continue;
    // Receiving from the neighbouring stage is waiting for its work.
    const Ns p2p = std::clamp<Ns>(table.phase(row, Phase::p2p), 0, duration - wait);
    grid.ranks.own_time[i] = duration - wait - p2p;
    if (input) grid.ranks.input_wait[i] = table.phase(row, Phase::input_wait);
  }
}

// Phases of the critical rank, fitted into the step time: a sum above it (a damaged record) is
// scaled down.
std::array<Ns, kPhases> critical_ledger(const StepTable& table, uint32_t row, Ns collective,
                                        Ns time) {
  std::array<Ns, kPhases> ledger{};
  __int128 sum = 0;
  for (size_t p = 0; p < kPhases; ++p) {
    if (static_cast<Phase>(p) == Phase::unexplained) continue;
    Ns value = std::max<Ns>(0, table.phase(row, static_cast<Phase>(p)));
    if (static_cast<Phase>(p) == Phase::collective && collective >= 0) value = collective;
    ledger[p] = value;
    sum += value;
  }
  if (sum > time)
    for (Ns& value : ledger) value = static_cast<Ns>(static_cast<__int128>(value) * time / sum);
  Ns explained = 0;
  for (const Ns value : ledger) explained += value;
  ledger[index(Phase::unexplained)] = time - explained;
  return ledger;
}

// What lies between the steps, and what the steps without it last.
struct Pauses {
  const std::vector<Ns>& of_row;
  std::vector<Ns> longest;  // per column: of all ranks, without the pauses
  Ns at(uint32_t row) const { return std::max<Ns>(0, of_row[row]); }
};

Pauses pauses_of(const StepTable& table, const std::vector<Ns>& of_row, const StepGrid& grid) {
  Pauses pauses{of_row, std::vector<Ns>(grid.columns(), 0)};
  for (size_t i = 0; i < grid.row.size(); ++i)
    if (const uint32_t row = grid.row[i]; row != kNoRow) {
      Ns& longest = pauses.longest[i % grid.columns()];
      longest = std::max(longest, table.duration[row] - pauses.at(row));
    }
  return pauses;
}

// A pause that one rank has more of than all others delays these in their next step: there it is
// counted. A long one that delays nobody is a clock that was set.
Ns not_of_this_step(const StepTable& table, const Pauses& pauses, const StepGrid& grid, size_t r,
                    size_t c) {
  const uint32_t row = grid.row_at(r, c);
  const Ns alone = pauses.at(row) - grid.pause[c];
  if (pauses.at(row) == 0 || grid.pause[c] < 0 || alone <= 0 || grid.ranks.ranks.size() < 2 ||
      c + 1 == grid.columns() || int64_t{grid.steps.step[c + 1]} - grid.steps.step[c] != 1)
    return 0;
  const uint32_t next = grid.row_at(r, c + 1);
  if (next == kNoRow) return 0;
  const Ns waited = pauses.longest[c + 1] - (table.duration[next] - pauses.at(next));
  return waited >= alone / 2 || alone / 10 > table.duration[row] - pauses.at(row) ? alone : 0;
}

void fill_column(const StepTable& table, const Pauses& pauses, const Evidence& evidence, size_t c,
                 StepGrid& grid) {
  const size_t rows = grid.ranks.ranks.size();
  Ns time = 0, own = -1, start = kNoTime;
  size_t slowest = 0, critical = 0, present = 0;
  for (size_t r = 0; r < rows; ++r) {
    const uint32_t row = grid.row_at(r, c);
    if (row == kNoRow) continue;
    ++present;
    const Ns mine = table.duration[row] - not_of_this_step(table, pauses, grid, r, c);
    if (mine >= time) {
      if (mine > time || present == 1) slowest = r;
      time = mine;
    }
    if (const Ns work = grid.ranks.own_time[r * grid.columns() + c]; work > own)
      own = work, critical = r;
    if (table.start[row] != kNoTime) {
      const auto info = evidence.ranks.find(table.rank[row]);
      const Ns at =
          sat_add(table.start[row], info == evidence.ranks.end() ? 0 : info->second.clock_offset);
      start = start == kNoTime ? at : std::min(start, at);
    }
  }
  // Without phases or collectives own work is the step time itself: that names no critical rank.
  const bool known = present > 1 && (grid.has_phases || grid.has_wait);
  if (!known) critical = slowest;
  grid.steps.start[c] = start;
  grid.steps.time[c] = time;
  grid.steps.critical_rank[c] = known ? grid.ranks.ranks[critical] : -1;
  const uint32_t row = grid.row_at(critical, c);
  if (row != kNoRow && has_phases(table, row)) grid.told[c] = 1;
  Ns collective = kNoDuration;
  if (const Ns wait = grid.wait.empty() ? kNoDuration : grid.wait[critical * grid.columns() + c];
      wait >= 0 && row != kNoRow)
    if (const Ns whole = table.phase(row, Phase::collective); whole >= 0)
      collective = whole - std::min(whole, wait);
  const auto ledger =
      row == kNoRow ? std::array<Ns, kPhases>{} : critical_ledger(table, row, collective, time);
  for (size_t p = 0; p < kPhases; ++p) grid.steps.ledger[p][c] = ledger[p];
}

}  // namespace

StepGrid build_grid(const StepTable& table, const std::vector<Ns>& pauses,
                    const Evidence& evidence) {
  StepGrid grid;
  if (table.size() == 0) return grid;
  grid.has_phases = any_phase(table);
  place_rows(table, grid);
  find_complete(grid);
  find_pauses(table, pauses, grid);
  grid.wait = collective_waits(table, evidence, grid);
  grid.has_wait = !grid.wait.empty();
  fill_matrices(table, pauses, grid);
  add_own_pauses(pauses, grid);
  const size_t columns = grid.columns();
  grid.steps.start.assign(columns, kNoTime);
  grid.steps.time.assign(columns, 0);
  grid.steps.critical_rank.assign(columns, -1);
  grid.steps.segment.assign(columns, SegmentKind::steady);
  grid.steps.outlier.assign(columns, 0);
  grid.told.assign(columns, 0);
  for (auto& column : grid.steps.ledger) column.assign(columns, 0);
  const Pauses between = pauses_of(table, pauses, grid);
  for (size_t c = 0; c < columns; ++c) fill_column(table, between, evidence, c, grid);
  return grid;
}

}  // namespace firstwait
