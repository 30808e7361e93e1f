// For tests only: reports of every state that the page knows, with made-up but consistent numbers.
#pragma once
#include <cmath>

#include "model/verdict.h"

namespace firstwait::sample {

inline constexpr Ns kSecond = 1'000'000'000;
inline constexpr Ns kOnset = 1'794'914'197 * kSecond;  // 17 Nov 2026, 11:16:37 UTC

inline constexpr HealthCounter kTruncated{"truncated_json", Severity::data_loss,
                                          "The file ends early: copy it again."};
inline constexpr HealthCounter kNoTimestamps{"no_timestamps", Severity::info,
                                             "Export with timestamps to place samples in time."};

inline void add_steps(Report& r, size_t ranks, size_t steps, size_t onset, double before_s,
                      double after_s) {
  Attribution& a = r.attribution;
  JobSteps& j = a.steps;
  Ns at = kOnset - static_cast<Ns>(static_cast<double>(onset) * before_s * 1e9);
  for (size_t i = 0; i < steps; ++i) {
    const bool slow = i >= onset;
    const double wobble = 1 + 0.02 * std::sin(static_cast<double>(i) * 1.7);
    const Ns wait = static_cast<Ns>((slow ? after_s - before_s + 0.002 : 0.002) * wobble * 1e9);
    const Ns rest = static_cast<Ns>((before_s - 0.002) * 1e9);
    j.step.push_back(static_cast<int32_t>(i));
    j.start.push_back(at);
    j.time.push_back(wait + rest);
    for (auto& column : j.ledger) column.push_back(0);
    const auto set = [&](Phase p, Ns value) { j.ledger[index(p)].back() = value; };
    set(Phase::input_wait, wait);
    set(Phase::backward, rest / 2);
    set(Phase::forward, rest / 4);
    set(Phase::collective, rest / 8);
    set(Phase::optimizer, rest / 16);
    set(Phase::unexplained, rest - rest / 2 - rest / 4 - rest / 8 - rest / 16);
    j.critical_rank.push_back(0);
    j.segment.push_back(SegmentKind::steady);
    j.outlier.push_back(0);
    at += wait + rest;
  }
  RankStepMatrix& m = a.ranks;
  m.steps = steps;
  for (size_t k = 0; k < ranks; ++k) {
    m.ranks.push_back(static_cast<int32_t>(k));
    r.rank_ids.push_back(static_cast<int32_t>(k));
    r.rank_hosts.push_back(k < ranks / 2 ? "node07" : "node08");
    for (size_t i = 0; i < steps; ++i) {
      const bool missing = k == 1 && i > 5 && i < 60;
      const Ns wait = j.ledger[index(Phase::input_wait)][i] + static_cast<Ns>(k) * 1'000'000;
      m.step_time.push_back(missing ? kNoDuration : j.time[i]);
      m.own_time.push_back(missing ? kNoDuration
                                   : j.time[i] - j.ledger[index(Phase::collective)][i]);
      m.input_wait.push_back(missing ? kNoDuration : wait);
    }
  }
  r.hosts = {"node07", "node08"};
  r.start = j.start.front();
  r.end = at;
  r.span_s = static_cast<double>(at - r.start) / 1e9;
}

inline LedgerRow ledger_row(Phase phase, double seconds, double share,
                            std::optional<double> before = {}) {
  LedgerRow row;
  row.phase = phase;
  row.seconds = seconds;
  row.share = share;
  row.before = before;
  return row;
}

inline EvidenceRow evidence_row(std::string text, std::optional<double> baseline,
                                std::optional<double> current, std::string unit,
                                bool supports = true) {
  EvidenceRow row;
  row.text = std::move(text);
  row.baseline = baseline;
  row.current = current;
  row.unit = std::move(unit);
  row.supports = supports;
  return row;
}

inline Action action(std::string id, std::string text, Interval speedup, std::string bound,
                     std::string caution = {}) {
  Action a;
  a.id = std::move(id);
  a.text = std::move(text);
  a.speedup = speedup;
  a.then_bound_by = std::move(bound);
  a.caution = std::move(caution);
  return a;
}

inline void add_checklist(Report& r) {
  r.checklist = {{1, "workload pattern", CheckStatus::suspect, "step change at epoch 20", false},
                 {2, "workers compared", CheckStatus::clear, "all 8 alike, spread 3 %", false},
                 {3, "network", CheckStatus::clear, "retransmits 0.000 %", false},
                 {4, "storage", CheckStatus::suspect, "498 of 500 MB/s", true},
                 {5, "preprocessing", CheckStatus::suspect, "4 workers; binds next at 2.0×", false},
                 {6, "physical", CheckStatus::unobserved, "GPUs clear; no IPMI source", false},
                 {7, "contention", CheckStatus::clear, "neighbours use 3 %", false}};
}

inline SignalLane lane(const Report& r, std::string name, int step, std::string unit, double before,
                       double now) {
  SignalLane l;
  l.name = std::move(name);
  l.checklist_step = step;
  l.unit = std::move(unit);
  l.before = before;
  l.now = now;
  const JobSteps& j = r.attribution.steps;
  for (size_t i = 0; i < j.size(); i += 2) {
    l.time.push_back(j.start[i]);
    const double level = j.start[i] < kOnset ? before : now;
    l.value.push_back(level * (1 + 0.03 * std::sin(static_cast<double>(i))));
    l.low.push_back(level * 0.95);
    l.high.push_back(level * 1.05);
  }
  return l;
}

// The step change of the mock-up: storage at its ceiling since a dataset moved.
inline Report step_change() {
  Report r;
  r.job.id = "resnet-17";
  r.job.owner = "team-a";
  add_steps(r, 8, 1000, 600, 0.120, 0.576);
  Attribution& a = r.attribution;
  a.level = EvidenceLevel::phases;
  a.baseline_kind = BaselineKind::past;
  a.current_s = 0.576;
  a.baseline_s = 0.120;
  a.slowdown = 4.8;
  a.slowdown_ci = {4.7, 4.9};
  a.pattern.kind = PatternKind::step;
  a.productive_fraction = 0.18;
  a.replay_error = 0.013;
  Onset onset;
  onset.step = 61240;
  onset.time = kOnset;
  onset.step_lo = 61238;
  onset.step_hi = 61241;
  onset.before_s = 0.120;
  onset.after_s = 0.576;
  a.onset = onset;
  a.ledger = {ledger_row(Phase::input_wait, 0.458, 0.795, 0.002),
              ledger_row(Phase::backward, 0.062, 0.108, 0.062),
              ledger_row(Phase::forward, 0.034, 0.059, 0.034),
              ledger_row(Phase::collective, 0.010, 0.017, 0.010),
              ledger_row(Phase::optimizer, 0.005, 0.009, 0.005),
              ledger_row(Phase::h2d, 0.003, 0.005, 0.003),
              ledger_row(Phase::host, 0.002, 0.003, 0.002),
              ledger_row(Phase::unexplained, 0.002, 0.003, 0.002)};
  for (int k = 0; k < 8; ++k) {
    RankStat s;
    s.rank = k;
    s.own_s = 0.56 + 0.001 * k;
    s.ratio_to_peers = 1 + 0.002 * k;
    a.rank_stats.push_back(s);
  }
  r.headline =
      "4.8× slower since step 61,240. All 8 ranks wait for input, because reads from "
      "nfs01:/export are at its 500 MB/s ceiling.";
  r.verdict_word = "very likely";
  Finding f;
  f.cause = "storage.throughput_ceiling";
  f.title = "Reads are at the export's ceiling";
  f.confidence = 0.94;
  f.scope = "cluster";
  f.owner = "storage-ops";
  f.cost_share = 0.79;
  f.cost_gpu_hours = 4.4;
  f.checklist_step = 4;
  f.verdict.outcome = Outcome::supported;
  f.verdict.where = {"storage/nfs01:/export"};
  f.verdict.effect = Effect{0.456, {0.45, 0.46}};
  f.verdict.since = onset;
  f.verdict.chain = {{"GPUs 20 % busy", "all 8", "95 → 20 %"},
                     {"Ranks wait for input", "every step", "0.002 → 0.458 s"},
                     {"Loader queue empty", "workers blocked in reads", "5 → 47 % of time"},
                     {"Reads slow on both clients", "network RTT still 0.2 ms", "2.9 → 38 ms"},
                     {"Export at its ceiling", "nfs01:/export, flat 41 min", "14 → 498 MB/s"}};
  f.verdict.evidence = {
      evidence_row("Read rate of the export is flat at its limit", 14e6, 498e6, "bytes/s"),
      evidence_row("Augmentation also got heavier", 0.0066, 0.018, "s", false)};
  f.verdict.evidence[0].metric = "node_mountstats_nfs_read_bytes_total";
  f.actions = {action("data.local_nvme", "Copy the dataset to local NVMe (854 GB)", {1.9, 2.1},
                      "loader workers"),
               action("loader.more_workers", "1, and 12 workers per rank instead of 4", {3.4, 3.8},
                      "CPU, 64 cores"),
               action("preprocess.on_gpu", "2, and augmentation on the GPU", {3.8, 4.1},
                      "GPU compute", "samples change slightly; compare accuracy."),
               action("loader.more_workers", "12 workers alone", {1.0, 1.0}, "the export")};
  r.findings.push_back(f);
  r.ruled_out = {{"input.loader_underprovisioned", "workers compute 50 %, not ≈ 100 %", {}},
                 {"input.cpu_saturated", "31 % of 64 allowed cores", {}},
                 {"contention.storage", "neighbours 14 MB/s, unchanged", {}},
                 {"storage.latency", "rate at 99.6 % of the limit", {}},
                 {"storage.client_degraded", "243 and 241 MB/s, alike", {}},
                 {"storage.metadata", "1.1 % of RPC time", {}},
                 {"network.loss_retransmission", "0.000 % retransmitted", {}},
                 {"sync.straggler", "ranks differ by 3 %", {}},
                 {"gpu.thermal_throttle", "1,755 MHz, unchanged", {}}};
  r.untested = {{"node.physical", {"node_hwmon_*", "IPMI"}, true}};
  add_checklist(r);
  r.symptoms = {{"gpu_utilization", "ratio", "bursts", 0.95, 0.20}};
  r.next_measurements = {{"an IPMI source on node07, node08", {"node.physical"}}};
  r.lanes = {lane(r, "GPU busy", 2, "ratio", 0.95, 0.20),
             lane(r, "Reads from nfs01", 4, "bytes/s", 14e6, 498e6)};
  r.lanes[1].ceiling = 500e6;
  Event change;
  change.kind = "dataset_change";
  change.entity = "job/resnet-17";
  change.start = kOnset - 2 * kSecond;
  change.attributes = {
      {"key", "dataset.path"}, {"from", "/nvme/imagenet"}, {"to", "/data/imagenet"}};
  Event save;
  save.kind = "checkpoint";
  save.entity = "job/resnet-17";
  save.start = kOnset - 30 * kSecond;
  save.end = save.start + kSecond;
  r.events = {save, change};
  r.sources = {{"steps.jsonl.zst", "steps", 8000, 4'000'000, "8 ranks, 1,000 steps"},
               {"metrics.om.zst", "openmetrics", 512, 90'000, ""},
               {"settings.jsonl", "settings", 61, 4'000, ""}};
  r.input_health = {{"metrics.om.zst", &kNoTimestamps, 1, "line 17"}};
  return r;
}

// One profiler trace: loading in the main thread, no past to compare with, relative times.
inline Report chronic() {
  Report r;
  add_steps(r, 1, 6, 6, 0.1748, 0.1748);
  for (auto& start : r.attribution.steps.start) start -= kOnset - 2 * kSecond;
  r.start = r.end = kNoTime;
  r.hosts.clear();
  r.rank_hosts.clear();
  Attribution& a = r.attribution;
  a.level = EvidenceLevel::ops;
  a.current_s = 0.1748;
  a.pattern.kind = PatternKind::chronic;
  a.productive_fraction = 0.53;
  a.ledger = {ledger_row(Phase::input_wait, 0.0694, 0.397), ledger_row(Phase::forward, 0.05, 0.286),
              ledger_row(Phase::backward, 0.043, 0.246),
              ledger_row(Phase::unexplained, 0.0124, 0.071)};
  r.headline =
      "Runs at 53 % of what its GPU allows. Rank 0 waits for input, because loading runs in the "
      "training thread.";
  r.verdict_word = "very likely";
  Finding f;
  f.cause = "input.loading_in_main_thread";
  f.title = "Loading runs in the training thread";
  f.confidence = 0.96;
  f.verdict.where = {"rank/0"};
  f.verdict.chain = {{"Rank 0 waits for input", "every step", "0.069 s"},
                     {"Loading in the training thread", "no workers", "40 % of the step"}};
  f.actions = {action("loader.more_workers", "Load in worker processes", {kNaN, 1.66}, "")};
  f.actions[0].assumption = "workers hide all loading";
  r.findings.push_back(f);
  add_checklist(r);
  return r;
}

inline Report undetermined() {
  Report r = step_change();
  r.headline = "1.9× slower since step 61,240; the cause is not clear. Three remain.";
  r.verdict_word = "undetermined";
  r.findings[0].confidence = 0.41;
  for (auto& c : r.checklist) c.begins_here = false;
  return r;
}

inline Report healthy() {
  Report r = step_change();
  r.findings.clear();
  r.headline = "Nothing waits: GPUs compute 95 % of each step.";
  r.verdict_word = "healthy";
  r.attribution.onset.reset();
  r.attribution.pattern.kind = PatternKind::none;
  for (auto& c : r.checklist) {
    c.status = CheckStatus::clear;
    c.begins_here = false;
  }
  return r;
}

// A file in which nothing could be judged.
inline Report cannot_judge() {
  Report r;
  r.headline = "Cannot judge: no step times were found.";
  r.verdict_word = "data";
  r.input_health = {{"broken.json.gz", &kTruncated, 3, "byte 4096"}};
  r.sources = {{"broken.json.gz", "chrome_trace", 0, 4096, ""}};
  add_checklist(r);
  for (auto& c : r.checklist) {
    c.status = CheckStatus::unobserved;
    c.summary.clear();
    c.begins_here = false;
  }
  return r;
}

inline Report inconclusive() {
  Report r = step_change();
  r.headline = "Inconclusive: replay misses the step time by 7 %.";
  r.verdict_word = "inconclusive";
  r.findings.clear();
  r.attribution.replay_error = 0.07;
  return r;
}

inline Report periodic() {
  Report r = step_change();
  r.headline = "Every 1,000 steps, 41 s go to saving.";
  r.attribution.pattern.kind = PatternKind::periodic;
  r.attribution.pattern.period_steps = 1000;
  r.attribution.pattern.period_ratio = 80;
  r.attribution.onset.reset();
  return r;
}

inline Report intermittent() {
  Report r = healthy();
  r.headline = "Single steps are slow; they cost 3 % of the time.";
  r.verdict_word = "undetermined";
  r.attribution.pattern.kind = PatternKind::intermittent;
  for (int i = 0; i < 14; ++i)
    r.attribution.outliers.push_back(
        {100 + i * 7, -1, 0.2 + 0.01 * i, 1.7 + 0.1 * i, Phase::unexplained});
  return r;
}

}  // namespace firstwait::sample
