#include "explain/testing/case_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace firstwait {

DiagnosisCase::DiagnosisCase() = default;
DiagnosisCase::~DiagnosisCase() = default;
DiagnosisCase::DiagnosisCase(DiagnosisCase&&) noexcept = default;

namespace {

using Words = std::vector<std::string>;

Words words_of(std::string_view line) {
  Words out;
  for (const auto w : split(line, ' '))
    if (!w.empty()) out.emplace_back(w);
  return out;
}

double number(const Words& w, size_t i) {
  return i < w.size() ? parse_double(w[i]).value_or(kNaN) : kNaN;
}

// "<now>" or "<before> -> <now>" from word i on.
bool values(const Words& w, size_t i, double* before, double* now) {
  const bool both = i + 2 < w.size() && w[i + 1] == "->";
  *now = number(w, both ? i + 2 : i);
  *before = both ? number(w, i) : *now;
  return *now == *now && *before == *before;
}

using Labels = std::vector<std::pair<std::string, std::string>>;

Labels labels_of(std::string_view text) {
  Labels out;
  for (const auto pair : split(text, ',')) {
    const auto eq = pair.find('=');
    if (eq != std::string_view::npos)
      out.emplace_back(std::string(pair.substr(0, eq)), std::string(pair.substr(eq + 1)));
  }
  return out;
}

bool add_series(ViewBuilder& b, const Words& w) {
  double before, now;
  if (w.size() < 4 || !values(w, 3, &before, &now)) return false;
  std::string metric = w[1];
  Labels labels;
  if (const auto brace = metric.find('{'); brace != std::string::npos) {
    labels = labels_of(std::string_view(metric).substr(brace + 1, metric.size() - brace - 2));
    metric.resize(brace);
  }
  if (w[0] == "gauge")
    b.gauge(metric, w[2], before, now, labels);
  else
    b.counter(metric, w[2], before, now, labels);
  return true;
}

bool add_steps(ViewBuilder& b, const Words& w) {
  const double count = number(w, 1), base = number(w, 2);
  if (!(count > 0 && base > 0)) return false;
  int every = 0, epoch = 0;
  double ratio = 1;
  std::vector<int> at;
  for (size_t i = 3; i + 1 < w.size(); ++i) {
    if (w[i] == "every") every = static_cast<int>(number(w, i + 1));
    if (w[i] == "epoch") epoch = static_cast<int>(number(w, i + 1));
    if (w[i] == "at")
      for (const auto p : split(w[i + 1], ','))
        at.push_back(static_cast<int>(parse_int(p).value_or(-1)));
  }
  for (const auto& word : w)
    if (word[0] == 'x') ratio = parse_double(std::string_view(word).substr(1)).value_or(1);
  auto& steps = b.attribution().steps;
  auto& table = b.evidence().steps;
  Ns t = ViewBuilder::kBefore;
  for (auto& column : steps.ledger) column.assign(static_cast<size_t>(count), 0);
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const bool slow =
        (every > 0 && i % every == 0) || std::find(at.begin(), at.end(), i) != at.end();
    const auto d = static_cast<Ns>(base * (slow ? ratio : 1) * 1e9);
    steps.step.push_back(i);
    steps.start.push_back(t);
    steps.time.push_back(d);
    steps.ledger[index(Phase::unexplained)][static_cast<size_t>(i)] = d;
    steps.segment.push_back(SegmentKind::steady);
    if (slow && every == 0)
      b.attribution().outliers.push_back({i, -1, base * ratio, ratio, Phase::unexplained});
    const auto row = table.append(kNoName, 0, i, t, d);
    if (table.epoch.size() < table.size()) table.epoch.resize(table.size(), -1);
    if (epoch > 0) table.epoch[row] = i / epoch;
    t += d;
  }
  return true;
}

bool add_trace(ViewBuilder& b, const Words& w) {
  auto& traces = b.attribution().traces;
  if (traces.empty()) traces.emplace_back();
  TraceFacts& f = traces.back();
  f.steps = 6;
  f.has_gpu = true;
  for (size_t i = 1; i < w.size(); ++i) {
    const auto eq = w[i].find('=');
    if (eq == std::string::npos) return false;
    const auto key = w[i].substr(0, eq);
    const double v = parse_double(std::string_view(w[i]).substr(eq + 1)).value_or(kNaN);
    if (key == "loader_in_main_thread")
      f.loader_in_main_thread = v > 0;
    else if (key == "loader_workers_seen")
      f.loader_workers_seen = v > 0;
    else if (key == "loader_main_thread_s")
      f.loader_main_thread_s = v;
    else if (key == "loader_wait_s")
      f.loader_wait_s = v;
    else if (key == "productive_fraction")
      f.productive_fraction = v;
    else if (key == "gpu_busy_fraction")
      f.gpu_busy_fraction = v;
    else if (key == "kernels_per_step")
      f.kernels_per_step = v;
    else if (key == "median_kernel_s")
      f.median_kernel_s = v;
    else if (key == "launch_gap_s")
      f.launch_gap_s = v;
    else if (key == "sync_s")
      f.sync_s = v;
    else if (key == "item_calls_per_step")
      f.item_calls_per_step = v;
    else
      return false;
  }
  return true;
}

bool add_loader(ViewBuilder& b, const Words& w) {
  const double workers = number(w, 1), work = number(w, 2), reading = number(w, 3);
  if (!(workers >= 0 && work >= 0 && reading >= 0)) return false;
  double step = 0;
  for (const auto& r : b.attribution().ledger) step += r.seconds;
  auto& t = b.evidence().steps;
  for (int i = 0; i < 20; ++i) {
    const auto row = t.append(kNoName, 0, 100 + i, kNoTime, static_cast<Ns>(step * 1e9));
    t.set_loader(row, LoaderWork::fetch, static_cast<Ns>(work * reading * 1e9));
    t.set_loader(row, LoaderWork::decode, static_cast<Ns>(work * (1 - reading) * 1e9));
    t.set_number(t.loader_workers, row, workers);
    if (w.size() > 5 && w[4] == "queued") t.set_number(t.loader_queued, row, number(w, 5));
  }
  return true;
}

bool set_pattern(ViewBuilder& b, const Words& w) {
  auto& p = b.attribution().pattern;
  if (w.size() < 2) return false;
  if (w[1] == "none")
    p.kind = PatternKind::none;
  else if (w[1] == "intermittent")
    p.kind = PatternKind::intermittent;
  else if (w[1] == "periodic" && w.size() > 3) {
    p.kind = PatternKind::periodic;
    p.period_steps = static_cast<int32_t>(number(w, 2));
    p.period_ratio = number(w, 3);
    p.cost_s_per_step = 0.1;
  } else
    return w[1] == "chronic" || w[1] == "step";
  return true;
}

bool add_ranks(ViewBuilder& b, const Words& w) {
  if (w.size() < 3) return false;
  const auto dash = w[1].find('-');
  const auto first = parse_int(std::string_view(w[1]).substr(0, dash));
  const auto last =
      dash == std::string::npos ? first : parse_int(std::string_view(w[1]).substr(dash + 1));
  if (!first || !last) return false;
  for (auto r = *first; r <= *last; ++r) b.rank(static_cast<int32_t>(r), w[2]);
  return true;
}

bool add_setting(ViewBuilder& b, const Words& w, std::string_view line) {
  const auto eq = line.find(" = ");
  if (w.size() < 4 || eq == std::string_view::npos) return false;
  b.setting(w[1], w[2], std::string(trim(line.substr(eq + 3))));
  if (w[0] == "setting@onset") b.evidence().settings.back().time = ViewBuilder::kOnset;
  return true;
}

bool add_line(DiagnosisCase& c, const Words& w, std::string_view line) {
  auto& b = *c.evidence;
  const auto& verb = w[0];
  if (verb == "pattern") return set_pattern(b, w);
  if (verb == "rank") return add_ranks(b, w);
  if (verb == "gauge" || verb == "counter") return add_series(b, w);
  if (verb == "setting" || verb == "setting@onset") return add_setting(b, w, line);
  if (verb == "steps") return add_steps(b, w);
  if (verb == "trace") return add_trace(b, w);
  if (verb == "loader") return add_loader(b, w);
  if (w.size() < 2) return false;
  if (verb == "phase") {
    double before, now;
    const auto p = phase_from_name(w[1]);
    if (!p || !values(w, 2, &before, &now)) return false;
    b.phase(*p, now, before);
    return true;
  }
  if (verb == "productive") {
    b.attribution().productive_fraction = number(w, 1);
    return true;
  }
  if (verb == "event") {
    Labels attributes;
    for (size_t i = 4; i < w.size(); ++i)
      for (auto& l : labels_of(w[i])) attributes.push_back(std::move(l));
    if (w.size() < 4) return false;
    b.event(w[1], w[2], number(w, 3), attributes);
    return true;
  }
  if (verb == "expect")
    c.expected.push_back({w[1], w.size() > 2 ? number(w, 2) : 0});
  else if (verb == "allow")
    c.allowed.push_back(w[1]);
  else if (verb == "refute")
    c.refuted.push_back(w[1]);
  else
    return false;
  return true;
}

}  // namespace

std::vector<DiagnosisCase> read_cases(std::string_view text, const std::string& file) {
  std::vector<DiagnosisCase> out;
  int number = 0;
  for (auto line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const auto w = words_of(line);
    if (w[0] == "case") {
      DiagnosisCase c;
      c.file = file;
      c.title = std::string(trim(line.substr(4)));
      c.line = number;
      out.push_back(std::move(c));
      continue;
    }
    if (out.empty()) continue;
    auto& c = out.back();
    if (c.evidence == nullptr)
      c.evidence = std::make_unique<ViewBuilder>(w[0] != "pattern" || w[1] == "step");
    if (!add_line(c, w, line))
      c.errors.push_back(std::to_string(number) + ": " + std::string(line));
  }
  return out;
}

Verdict test_case(const Hypothesis& hypothesis, const std::string& text) {
  const auto cases = read_cases("case\n" + text, "");
  EXPECT_TRUE(cases.at(0).errors.empty());
  return hypothesis.test(cases.at(0).evidence->view());
}

}  // namespace firstwait
