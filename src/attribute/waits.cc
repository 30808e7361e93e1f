#include "attribute/waits.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/saturate.h"

namespace firstwait {
namespace {

// Columns of training steps by step number.
std::map<int32_t, size_t> training_columns(const StepGrid& grid) {
  std::map<int32_t, size_t> columns;
  for (size_t c = 0; c < grid.columns(); ++c) columns.try_emplace(grid.steps.step[c], c);
  return columns;
}

// The step of a rank that holds a time, or -1.
int32_t step_at(const StepTable& table, const StepGrid& grid, size_t rank_row, Ns time) {
  int32_t best = -1;
  size_t lo = 0, hi = grid.columns();
  // Columns are in step order, and so are the starts of a rank's steps: find the last that begins
  // by `time`.
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    size_t probe = mid;
    while (probe > lo && (grid.row_at(rank_row, probe) == kNoRow ||
                          table.start[grid.row_at(rank_row, probe)] == kNoTime))
      --probe;
    const uint32_t row = grid.row_at(rank_row, probe);
    if (row == kNoRow || table.start[row] == kNoTime) {
      lo = mid + 1;
      continue;
    }
    if (table.start[row] <= time) {
      if (time < sat_add(table.start[row], table.duration[row])) best = grid.steps.step[probe];
      lo = mid + 1;
    } else {
      hi = probe;
    }
  }
  return best;
}

bool one_clock(const Evidence& evidence, const std::vector<size_t>& members) {
  const CollectiveTable& t = evidence.collectives;
  const std::string* host = nullptr;
  bool same = true, aligned = true;
  for (const size_t i : members) {
    const auto found = evidence.ranks.find(t.rank[i]);
    if (found == evidence.ranks.end()) return false;
    const RankInfo& info = found->second;
    if (info.host.empty() || (host != nullptr && *host != info.host)) same = false;
    host = &info.host;
    // The reference rank has offset and uncertainty zero; every other aligned one has an
    // uncertainty.
    if (info.clock_uncertainty == 0 && info.clock_offset != 0) aligned = false;
    if (info.clock_uncertainty > t.duration[i]) aligned = false;
  }
  size_t without = 0;
  for (const size_t i : members)
    without += evidence.ranks.find(t.rank[i])->second.clock_uncertainty == 0;
  return same || (aligned && without <= 1);
}

std::vector<Ns> from_records(const StepTable& table, const Evidence& evidence,
                             const StepGrid& grid) {
  const CollectiveTable& t = evidence.collectives;
  const auto columns = training_columns(grid);
  using Instance = std::tuple<NameId, NameId, int32_t, int64_t>;  // group, op, step, seq
  std::map<Instance, std::vector<size_t>> instances;
  std::map<std::tuple<int32_t, NameId, NameId, int32_t>, int64_t> order;
  std::vector<size_t> rank_row(t.size(), SIZE_MAX);
  for (size_t i = 0; i < t.size(); ++i) {
    const auto r = std::lower_bound(grid.ranks.ranks.begin(), grid.ranks.ranks.end(), t.rank[i]);
    if (r == grid.ranks.ranks.end() || *r != t.rank[i] || t.duration[i] < 0) continue;
    rank_row[i] = static_cast<size_t>(r - grid.ranks.ranks.begin());
    const int32_t step = t.step[i] >= 0 ? t.step[i] : step_at(table, grid, rank_row[i], t.start[i]);
    if (step < 0) continue;
    const int64_t seq =
        t.seq[i] >= 0 ? t.seq[i] : -1 - order[{t.rank[i], t.group[i], t.op[i], step}]++;
    instances[{t.group[i], t.op[i], step, seq}].push_back(i);
  }
  std::vector<Ns> waits;
  for (const auto& [instance, members] : instances) {
    const auto column = columns.find(std::get<2>(instance));
    if (column == columns.end() || members.size() < 2) continue;
    if (waits.empty()) waits.assign(grid.row.size(), kNoDuration);
    const bool clocks = one_clock(evidence, members);
    Ns last = INT64_MIN, shortest = INT64_MAX;
    const auto at = [&](size_t i) {
      return sat_add(t.start[i], evidence.ranks.find(t.rank[i])->second.clock_offset);
    };
    for (const size_t i : members) {
      if (clocks) last = std::max(last, at(i));
      shortest = std::min(shortest, t.duration[i]);
    }
    for (const size_t i : members) {
      const Ns wait = clocks ? std::clamp<Ns>(sat_sub(last, at(i)), 0, t.duration[i])
                             : t.duration[i] - shortest;
      Ns& cell = waits[rank_row[i] * grid.columns() + column->second];
      cell = sat_add(std::max<Ns>(cell, 0), wait);
    }
  }
  return waits;
}

std::vector<Ns> from_phases(const StepTable& table, const StepGrid& grid) {
  if (table.phases[index(Phase::collective)].empty() || grid.ranks.ranks.size() < 2) return {};
  std::vector<Ns> waits;
  for (size_t c = 0; c < grid.columns(); ++c) {
    Ns shortest = INT64_MAX;
    size_t known = 0;
    for (size_t r = 0; r < grid.ranks.ranks.size(); ++r) {
      const uint32_t row = grid.row_at(r, c);
      if (row == kNoRow || table.phase(row, Phase::collective) < 0) continue;
      shortest = std::min(shortest, table.phase(row, Phase::collective));
      ++known;
    }
    if (known < 2) continue;
    if (waits.empty()) waits.assign(grid.row.size(), kNoDuration);
    for (size_t r = 0; r < grid.ranks.ranks.size(); ++r) {
      const uint32_t row = grid.row_at(r, c);
      if (row != kNoRow && table.phase(row, Phase::collective) >= 0)
        waits[r * grid.columns() + c] = table.phase(row, Phase::collective) - shortest;
    }
  }
  return waits;
}

}  // namespace

std::vector<Ns> collective_waits(const StepTable& table, const Evidence& evidence,
                                 const StepGrid& grid) {
  std::vector<Ns> waits = from_records(table, evidence, grid);
  if (waits.empty()) return from_phases(table, grid);
  return waits;
}

}  // namespace firstwait
