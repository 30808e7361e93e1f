#include "import/logs/dlio_epochs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "base/text.h"

namespace firstwait {
namespace {

struct Epoch {
  Ns start = kNoTime, end = kNoTime, block = 0, checkpoint = 0;
  double au = kNaN, samples = kNaN;
};

Ns scaled(Ns duration, double share) {
  return static_cast<Ns>(std::llround(static_cast<double>(duration) * std::clamp(share, 0.0, 1.0)));
}

}  // namespace

std::string dlio_run(std::string_view path) {
  const size_t slash = path.find_last_of("/:");
  if (slash == std::string_view::npos) return "dlio";
  path = path.substr(0, slash);
  const size_t parent = path.find_last_of("/:");
  if (parent != std::string_view::npos) path.remove_prefix(parent + 1);
  return path.empty() || path == "." || path == ".." ? "dlio" : std::string(path);
}

void add_dlio_epoch_rows(Evidence& evidence) {
  std::map<std::string, std::map<int32_t, Epoch>> runs;
  for (const Event& e : evidence.events) {
    if (e.kind != "epoch" || e.attribute("tool") != "dlio" || e.entity.compare(0, 4, "job/") != 0)
      continue;
    const auto number = parse_int(e.attribute("epoch"));
    if (!number || *number < 0 || *number > INT32_MAX) continue;
    Epoch& epoch = runs[e.entity.substr(4)][static_cast<int32_t>(*number)];
    if (e.start != kNoTime) {
      epoch.start = e.start;
      epoch.end = e.end;
      epoch.block = parse_time_ns(e.attribute("block_s")).value_or(0);
      epoch.checkpoint = parse_time_ns(e.attribute("checkpoint_s")).value_or(0);
    }
    if (const auto au = parse_double(e.attribute("au"))) epoch.au = *au;
    if (const auto rate = parse_double(e.attribute("samples_per_second"))) epoch.samples = *rate;
  }
  if (runs.empty()) return;
  auto& steps = evidence.steps;
  const std::unordered_set<NameId> known(steps.job.begin(), steps.job.end());
  for (const auto& [run, epochs] : runs) {
    const NameId job = evidence.names.intern(run);
    if (known.contains(job)) continue;
    for (const auto& [number, epoch] : epochs) {
      if (epoch.start == kNoTime || epoch.end <= epoch.start ||
          epoch.end - epoch.start > (int64_t{1} << 53))
        continue;
      const Ns duration = epoch.end - epoch.start;
      const size_t row = steps.append(job, 0, number, epoch.start, duration);
      steps.epoch[row] = number;
      if (!std::isnan(epoch.samples))
        steps.set_number(steps.samples, row,
                         epoch.samples * static_cast<double>(epoch.block) / 1e9);
      const bool fits = epoch.block > 0 && epoch.checkpoint >= 0 && epoch.block <= duration &&
                        epoch.checkpoint <= duration - epoch.block;
      if (!std::isnan(epoch.au) && fits) {
        // Utilisation is computing over the time of the blocks; the rest of a block waits for
        // input.
        const Ns computing = scaled(epoch.block, epoch.au / 100);
        steps.set_phase(row, Phase::forward, computing);
        steps.set_phase(row, Phase::input_wait, epoch.block - computing);
      }
      if (epoch.checkpoint > 0 && fits) steps.set_phase(row, Phase::checkpoint, epoch.checkpoint);
    }
    evidence.rank(0);
  }
}

}  // namespace firstwait
