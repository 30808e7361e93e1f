#include "attribute/phase_replay.h"

#include <algorithm>

namespace firstwait {
namespace {

double seconds(Ns ns) { return static_cast<double>(ns) * 1e-9; }

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*std::max_element(values.begin(), half) + *half) / 2;
}

class Replay {
 public:
  explicit Replay(const PhaseCells& cells) : cells_(cells) {}

  PhaseReplay run() {
    PhaseReplay out;
    if (cells_.steps == 0 || cells_.ranks.empty() ||
        cells_.own.size() != cells_.steps * cells_.ranks.size())
      return out;
    pick_ranks(out);
    pick_steps();
    out.steps_used = columns_.size();
    if (columns_.empty()) return out;
    ideals();
    double replayed = 0, measured = 0;
    bool all_measured = !cells_.measured.empty();
    for (const size_t s : columns_) {
      double own = 0, transfer = 0;
      Ns slowest = kNoDuration;
      for (const size_t r : rows_) {
        if (own_at(r, s) == kNoDuration) continue;
        own = std::max(own, seconds(own_at(r, s)));
        transfer = std::max(transfer, transfer_at(r, s));
        if (!cells_.measured.empty())
          slowest = std::max(slowest, cells_.measured[r * cells_.steps + s]);
      }
      out.nodelay_per_step.push_back(own + transfer);
      replayed += own + transfer;
      all_measured = all_measured && slowest >= 0;
      if (slowest >= 0) measured += seconds(slowest);
    }
    const auto n = static_cast<double>(columns_.size());
    out.nodelay_s = replayed / n;
    out.ideal_s = ideal_own_ + ideal_transfer_;
    if (all_measured) out.base_s = measured / n;
    if (out.nodelay_s > 0 && all_measured) out.replay_error = out.base_s / out.nodelay_s - 1;
    if (!(out.ideal_s > 0)) return out;
    out.slowdown = out.nodelay_s / out.ideal_s;
    for (const size_t r : rows_) out.by_rank.push_back({cells_.ranks[r], score(r)});
    return out;
  }

 private:
  Ns own_at(size_t r, size_t s) const {
    const Ns own = cells_.own[r * cells_.steps + s];
    return own < 0 ? kNoDuration : own;
  }
  double transfer_at(size_t r, size_t s) const {
    if (cells_.transfer.size() != cells_.own.size()) return 0;
    return seconds(std::max<Ns>(0, cells_.transfer[r * cells_.steps + s]));
  }
  void pick_ranks(PhaseReplay& out) {
    for (size_t r = 0; r < cells_.ranks.size(); ++r) {
      size_t known = 0;
      for (size_t s = 0; s < cells_.steps; ++s) known += own_at(r, s) != kNoDuration ? 1 : 0;
      if (2 * known >= cells_.steps) {
        rows_.push_back(r);
      } else {
        out.ranks_left_out.push_back(cells_.ranks[r]);
      }
    }
  }
  void pick_steps() {
    std::vector<size_t> some;
    for (size_t s = 0; s < cells_.steps; ++s) {
      const auto present = static_cast<size_t>(std::count_if(
          rows_.begin(), rows_.end(), [&](size_t r) { return own_at(r, s) != kNoDuration; }));
      if (present == rows_.size() && present > 0) columns_.push_back(s);
      if (2 * present >= rows_.size() && present > 0) some.push_back(s);
    }
    if (2 * columns_.size() < some.size()) columns_ = std::move(some);
  }
  void ideals() {
    double sum = 0;
    size_t n = 0;
    std::vector<double> transfers;
    for (const size_t s : columns_)
      for (const size_t r : rows_) {
        if (own_at(r, s) == kNoDuration) continue;
        sum += seconds(own_at(r, s));
        ++n;
        transfers.push_back(transfer_at(r, s));
      }
    ideal_own_ = sum / static_cast<double>(n);
    ideal_transfer_ = median_of(std::move(transfers));
  }
  double score(size_t r) const {
    double sum = 0;
    size_t n = 0;
    const bool alone = rows_.size() == 1;  // nobody else waits at the barrier with the ideal time
    for (const size_t s : columns_) {
      if (own_at(r, s) == kNoDuration) continue;
      const double own = seconds(own_at(r, s)), transfer = transfer_at(r, s);
      sum +=
          alone ? own + transfer : std::max(own, ideal_own_) + std::max(transfer, ideal_transfer_);
      ++n;
    }
    return n > 0 ? sum / static_cast<double>(n) / (ideal_own_ + ideal_transfer_) : kNaN;
  }

  const PhaseCells& cells_;
  std::vector<size_t> rows_, columns_;
  double ideal_own_ = 0, ideal_transfer_ = 0;
};

}  // namespace

PhaseReplay replay_phases(const PhaseCells& cells) { return Replay(cells).run(); }

}  // namespace firstwait
