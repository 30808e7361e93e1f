#include "explain/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "explain/action_table.h"
#include "explain/signals.h"

namespace firstwait {
namespace {

// Means per step and rank over the steps in the current window (all steps when they have no times).
struct InputRates {
  double samples = kNaN, bytes = kNaN, workers = kNaN, work_s = kNaN, input_wait_s = kNaN,
         step_s = kNaN;
  size_t ranks = 0;
};

class Mean {
 public:
  void add(double v) {
    if (std::isnan(v)) return;
    sum_ += v;
    ++n_;
  }
  double value() const { return n_ == 0 ? kNaN : sum_ / static_cast<double>(n_); }

 private:
  double sum_ = 0;
  size_t n_ = 0;
};

InputRates input_rates(const View& view) {
  const auto& t = view.evidence.steps;
  const auto& window = view.attribution.current;
  Mean samples, bytes, workers, work;
  for (size_t i = 0; i < t.size(); ++i) {
    if (t.kind[i] != StepKind::train) continue;
    if (window.from != kNoTime &&
        (t.start[i] == kNoTime || t.start[i] < window.from || t.start[i] > window.to))
      continue;
    samples.add(StepTable::number(t.samples, i));
    bytes.add(StepTable::number(t.bytes, i));
    workers.add(StepTable::number(t.loader_workers, i));
    double sum = 0;
    bool any = false;
    for (size_t w = 0; w < kLoaderWorks; ++w) {
      const Ns ns = t.loader_time(i, static_cast<LoaderWork>(w));
      if (ns == kNoDuration) continue;
      sum += static_cast<double>(ns) * 1e-9;
      any = true;
    }
    if (any) work.add(sum);
  }
  InputRates r;
  r.samples = samples.value();
  r.bytes = bytes.value();
  r.workers = workers.value();
  if (std::isnan(r.workers)) r.workers = setting_number(view, "loader.num_workers").value_or(kNaN);
  r.work_s = work.value();
  r.step_s = view.attribution.current_s;
  if (const auto* row = ledger_row(view, Phase::input_wait)) r.input_wait_s = row->seconds;
  r.ranks = std::max<size_t>(1, view.attribution.ranks.ranks.size());
  return r;
}

std::optional<double> lookup(const Assumptions& values, const std::string& key) {
  const auto it = values.find(key);
  return it == values.end() ? std::nullopt : std::optional(it->second);
}

std::vector<Ceiling> ceilings_with(const InputRates& r, const Assumptions& set,
                                   const Assumptions& assume) {
  const double ranks = static_cast<double>(r.ranks);
  Ceiling storage{"storage", kNaN, kNaN, "read rate / bytes per sample"};
  const auto rate = lookup(assume, "storage.read_bytes_per_second");
  if (rate && r.bytes > 0 && r.samples > 0) storage.then = *rate / (r.bytes / r.samples);
  Ceiling prepare{"preparation", kNaN, kNaN, "workers / seconds of work per sample"};
  if (r.work_s > 0 && r.samples > 0 && r.workers > 0) {
    const double per_sample = r.work_s / r.samples;
    prepare.now = ranks * r.workers / per_sample;
    const double workers = lookup(set, "loader.num_workers").value_or(r.workers);
    const auto seconds = lookup(assume, "loader.seconds_per_sample");
    prepare.then = ranks * workers / seconds.value_or(per_sample);
  }
  Ceiling gpu{"gpu", kNaN, kNaN, "samples / (step without input wait)"};
  if (r.samples > 0 && r.step_s > 0 && r.input_wait_s >= 0 && r.step_s > r.input_wait_s) {
    gpu.now = ranks * r.samples / (r.step_s - r.input_wait_s);
    gpu.then = gpu.now;
  }
  return {storage, prepare, gpu};
}

// Whether the storage is found to deliver all that it can: then what it delivers now is its
// ceiling.
bool storage_is_full(const Report& report) {
  return std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& f) {
    return (f.cause == "storage.throughput_ceiling" || f.cause == "storage.iops_ceiling") &&
           f.confidence >= 0.5;
  });
}

}  // namespace

std::vector<std::string> action_ids() {
  std::vector<std::string> out;
  for (const auto& table : actions())
    for (const auto& row : table.module->rows) out.emplace_back(row.id);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Ceiling> ceilings(const View& view) { return ceilings_with(input_rates(view), {}, {}); }

Prediction predict(const View& view, const Report& report, const std::string& action,
                   const Assumptions& set, const Assumptions& assume) {
  Prediction p;
  p.action = action;
  for (const auto& table : actions())
    for (const auto& row : table.module->rows)
      if (row.id == action) p.caution = row.caution;
  const InputRates r = input_rates(view);
  const bool changes_input = !set.empty() || !assume.empty();
  if (changes_input) {
    p.ceilings = ceilings_with(r, set, assume);
    const double rate = static_cast<double>(r.ranks) * r.samples / r.step_s;
    if (Ceiling& storage = p.ceilings.front(); rate > 0 && storage_is_full(report)) {
      storage.now = rate;
      if (std::isnan(storage.then)) storage.then = rate;
      storage.from = "what it delivers now, which is all it can";
    }
    const Ceiling* lowest = nullptr;
    for (const auto& c : p.ceilings)
      if (c.then == c.then && (lowest == nullptr || c.then < lowest->then)) lowest = &c;
    if (lowest != nullptr && rate > 0) {
      // The bound is an upper one: pipelines rarely overlap perfectly, so the lower end is "no
      // change".
      p.speedup = {1, std::max(1.0, lowest->then / rate)};
      p.then_bound_by = lowest->name;
      p.assumption =
          "input, preparation and compute overlap fully; the lowest ceiling sets the rate";
    }
    if (!(r.samples > 0)) p.missing.emplace_back("samples per step (steps.jsonl: samples)");
    if (!(r.work_s > 0)) p.missing.emplace_back("the workers' time per step (steps.jsonl: loader)");
    if (!(r.bytes > 0) && lookup(assume, "storage.read_bytes_per_second"))
      p.missing.emplace_back("bytes read per step (steps.jsonl: bytes)");
    if (lowest != nullptr) return p;
  }
  for (const auto& f : report.findings) {
    for (const auto& a : f.actions) {
      if (a.id != action || !(a.speedup.hi > 0)) continue;
      p.speedup = a.speedup;
      p.assumption = fmt::format("{} holds ({}); {}", f.cause, percent(f.confidence), a.assumption);
      p.then_bound_by = a.then_bound_by;
      return p;
    }
  }
  if (p.missing.empty())
    p.missing.push_back(
        fmt::format("no finding is cured by {}, so nothing here predicts a gain from it", action));
  return p;
}

}  // namespace firstwait
