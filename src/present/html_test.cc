#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <fstream>

#include "present/html_axis.h"
#include "present/html_parts.h"
#include "present/present.h"
#include "present/sample_comparison.h"
#include "present/sample_report.h"

namespace firstwait {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t count(std::string_view text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Elements in the markup in front of the data.
size_t elements(const std::string& page) {
  size_t n = 0;
  for (size_t i = 0; i + 1 < page.size(); ++i)
    if (page[i] == '<' && page[i + 1] >= 'a' && page[i + 1] <= 'z') ++n;
  return n;
}

// Every opened element is closed, in order.
void expect_well_formed(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const size_t end = page.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = page.substr(at + 1, end - at - 1);
    if (tag[0] == '!' || tag.back() == '/') continue;
    const std::string name = tag.substr(tag[0] == '/' ? 1 : 0)
                                 .substr(0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    if (name == "meta" || name == "br") continue;
    if (tag[0] != '/') {
      open.push_back(name);
    } else {
      ASSERT_FALSE(open.empty()) << tag;
      ASSERT_EQ(open.back(), name) << page.substr(at > 200 ? at - 200 : 0, 240);
      open.pop_back();
    }
  }
  EXPECT_TRUE(open.empty());
}

std::string json_inside(const std::string& page) {
  const std::string opening = "<script type=\"application/json\" id=\"report\">";
  const size_t from = page.find(opening) + opening.size();
  return page.substr(from, page.find("</script>", from) - from);
}

// Pages are left where FIRSTWAIT_PAGES says, for looking at them.
void keep(const std::string& name, const std::string& page) {
  if (const char* folder = std::getenv("FIRSTWAIT_PAGES"))
    std::ofstream(std::string(folder) + "/" + name + ".html") << page;
}

TEST(Html, EveryStateIsAWellFormedPageThatRunsAndFetchesNothing) {
  const std::pair<const char*, Report> states[] = {{"step", sample::step_change()},
                                                   {"chronic", sample::chronic()},
                                                   {"undetermined", sample::undetermined()},
                                                   {"healthy", sample::healthy()},
                                                   {"data", sample::cannot_judge()},
                                                   {"inconclusive", sample::inconclusive()},
                                                   {"periodic", sample::periodic()},
                                                   {"intermittent", sample::intermittent()},
                                                   {"empty", Report{}}};
  for (const auto& [name, report] : states) {
    const std::string page = html_report(report);
    keep(name, page);
    SCOPED_TRACE(name);
    expect_well_formed(page);
    EXPECT_EQ(count(page, "<script"), 1U);
    for (const char* forbidden :
         {"http:", "https:", "src=", "@import", "<link", "onload", "javascript:", "nan%"})
      EXPECT_THAT(page, Not(HasSubstr(forbidden)));
    simdjson::dom::parser parser;
    EXPECT_EQ(parser.parse(simdjson::padded_string(json_inside(page))).error(), simdjson::SUCCESS);
  }
}

TEST(Html, ThePaceOfPeersIsNoPast) {
  Report r = sample::step_change();
  r.attribution.baseline_kind = BaselineKind::peers;
  r.attribution.slowdown_ci = {};
  const std::string page = html_report(r);
  EXPECT_THAT(page, HasSubstr("0.120 s without what comes late"));
  EXPECT_THAT(page, Not(HasSubstr("was 0.120 s")));
}

TEST(Html, StepChangeShowsVerdictFiguresChartsAndDoubt) {
  const std::string page = html_report(sample::step_change());
  for (const char* expected : {"<h1>Why resnet-17 is slow</h1>",
                               "<em>reads from nfs01:/export are at its 500 MB/s ceiling.</em>",
                               "<b>Very likely</b>, 94 %",
                               "9 rivals refuted, 1 untested.",
                               "Begins here",
                               "0.576 <small>s</small>",
                               "was 0.120 s (4.7–4.9×)",
                               "4.4 <small>GPU h</small>",
                               "3.8–4.1×",
                               "Input wait per rank",
                               "hatched: no record",
                               "ceiling 500 MB/s",
                               "baseline 0.120 s",
                               "dataset.path from /nvme/imagenet to /data/imagenet",
                               "UTC, 17 Nov 2026",
                               "then bound by loader workers",
                               "node_mountstats_nfs_read_bytes_total",
                               "class=\"against\"",
                               "What was read",
                               "Measure next",
                               "0.002</td><td>0.458"})
    EXPECT_THAT(page, HasSubstr(expected));
}

TEST(Html, OnlyANamedOriginGetsTheRing) {
  EXPECT_THAT(html_report(sample::step_change()), HasSubstr("class=\"ring\""));
  for (const auto& r : {sample::undetermined(), sample::healthy(), sample::cannot_judge(),
                        sample::inconclusive()}) {
    const std::string page = html_report(r);
    EXPECT_THAT(page, Not(HasSubstr("class=\"ring\"")));
    EXPECT_THAT(page, Not(HasSubstr("Begins here")));
    EXPECT_THAT(page, Not(HasSubstr("<em>")));
  }
}

TEST(Html, HostileTextStaysText) {
  Report r = sample::step_change();
  const std::string evil =
      "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'><b>&amp;\xff\x1b[31m";
  r.job.id = r.job.owner = r.headline = evil;
  r.hosts = {evil};
  for (auto& h : r.rank_hosts) h = evil;
  Finding& f = r.findings[0];
  f.cause = f.title = f.owner = evil;
  f.verdict.where = {evil};
  for (auto& l : f.verdict.chain) l = {evil, evil, evil};
  for (auto& e : f.verdict.evidence) e.text = e.metric = e.entity = e.unit = evil;
  for (auto& a : f.actions) a.id = a.text = a.caution = a.assumption = a.then_bound_by = evil;
  r.findings.push_back(f);
  for (auto& x : r.ruled_out) x.cause = x.reason = evil;
  r.untested = {{evil, {evil}, true}};
  for (auto& c : r.checklist) c.name = c.summary = evil;
  for (auto& s : r.symptoms) s.signal = s.unit = s.shape = evil;
  for (auto& l : r.lanes) l.name = l.detail = l.unit = l.entity = evil;
  for (auto& e : r.events)
    e.kind = evil + "_change", e.entity = evil, e.attributes = {{evil, evil}};
  for (auto& s : r.sources) s.path = s.importer = s.note = evil;
  for (auto& h : r.input_health) h.source = h.first_place = evil;
  r.observations = {{evil, evil, {}}};
  r.next_measurements = {{evil, {evil}}};
  const std::string page = html_report(r);
  expect_well_formed(page);
  EXPECT_EQ(count(page, "<script"), 1U);
  EXPECT_EQ(count(page, "</script"), 1U);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  simdjson::dom::parser parser;
  EXPECT_EQ(parser.parse(simdjson::padded_string(json_inside(page))).error(), simdjson::SUCCESS);

  Comparison c = sample::comparison();
  c.before.label = c.after.job = c.headline = c.test = evil;
  c.settings = {{evil, evil, evil, evil}};
  c.observations = {{evil, evil, {}}};
  c.symptoms = {{evil, evil, evil, 1, 2}};
  const std::string compared = html_compare(c);
  expect_well_formed(compared);
  EXPECT_EQ(count(compared, "<script"), 1U);
  EXPECT_THAT(compared, Not(HasSubstr("<img")));
}

// 1,024 ranks on 128 hosts, 10,000 steps, and every list far too long.
Report huge() {
  Report r = sample::step_change();
  Report big;
  sample::add_steps(big, 1024, 4000, 2000, 0.12, 0.576);
  r.attribution.steps = big.attribution.steps;
  r.attribution.ranks = big.attribution.ranks;
  r.rank_ids = big.rank_ids;
  r.rank_hosts.clear();
  for (size_t i = 0; i < r.rank_ids.size(); ++i)
    r.rank_hosts.push_back("node" + std::to_string(i / 8));
  r.start = big.start;
  r.end = big.end;
  for (auto& v : r.attribution.steps.ledger[index(Phase::gc)]) v = 1'000'000;
  Finding f = r.findings[0];
  for (int i = 0; i < 60; ++i) {
    r.findings[0].verdict.evidence.push_back(f.verdict.evidence[0]);
    r.findings[0].actions.push_back(f.actions[0]);
    r.findings.push_back(f);
    r.ruled_out.push_back(r.ruled_out[0]);
    r.untested.push_back(r.untested[0]);
    r.symptoms.push_back(r.symptoms[0]);
    r.lanes.push_back(r.lanes[0]);
    r.sources.push_back(r.sources[0]);
    r.input_health.push_back(r.input_health[0]);
    r.observations.push_back({"something", "", {}});
    r.next_measurements.push_back(r.next_measurements[0]);
  }
  for (int i = 0; i < 5000; ++i) {
    r.events.push_back(r.events[0]);
    r.attribution.outliers.push_back({i, -1, 1, 2, Phase::host});
  }
  return r;
}

TEST(Html, AHugeJobStaysSmallAndSaysWhatWasCut) {
  Report r = huge();
  const std::string page = html_report(r);
  keep("huge", page);
  expect_well_formed(page);
  EXPECT_LE(elements(page), 1500U);
  EXPECT_THAT(page, HasSubstr("each of 600 columns shows the slowest of its steps"));
  EXPECT_THAT(page, HasSubstr("worst value under it"));
  EXPECT_THAT(page, HasSubstr("rows: the worst rank of a host"));
  EXPECT_THAT(page, HasSubstr("80 of 5,002 shown"));
  EXPECT_LE(page.size() - json_inside(page).size(), 1'500'000U);
}

TEST(Html, HostileNumbersDoNotBreakTheCharts) {
  Report r = sample::step_change();
  JobSteps& s = r.attribution.steps;
  s.start[3] = INT64_MIN + 1;
  s.time[4] = INT64_MAX;
  s.ledger[0][5] = INT64_MAX;
  s.ledger[1][6] = -5;
  r.attribution.ranks.step_time[7] = INT64_MAX;
  r.attribution.baseline_s = INFINITY;
  r.attribution.current_s = kNaN;
  r.lanes[0].value[0] = INFINITY;
  r.lanes[0].time.resize(3);
  r.lanes[1].ceiling = -1;
  r.findings[0].confidence = kNaN;
  r.events[0].start = INT64_MAX;
  expect_well_formed(html_report(r));
  s.start[3] = s.start[2];
  s.start.back() = INT64_MAX;
  expect_well_formed(html_report(r));
  s.ledger[0].clear();
  r.attribution.ranks.input_wait.resize(5);
  expect_well_formed(html_report(r));
}

TEST(Axis, KeepsTheSlowestStepOfEachColumn) {
  Report r = sample::step_change();
  r.attribution.steps.time[777] = 30 * sample::kSecond;
  const Axis axis(r);
  const auto columns = axis_columns(axis, r.attribution.steps, 100);
  ASSERT_LE(columns.size(), 100U);
  size_t covered = 0;
  bool kept = false;
  for (const auto& c : columns) {
    covered += c.last - c.first + 1;
    kept = kept || c.worst == 777;
    EXPECT_LT(c.x0, c.x1 + 1e-9);
  }
  EXPECT_TRUE(kept);
  EXPECT_EQ(covered, r.attribution.steps.size());
}

TEST(Axis, StepsWithoutTimesAreDrawnInOrder) {
  Report r = sample::step_change();
  r.attribution.steps.start.assign(r.attribution.steps.size(), kNoTime);
  const Axis axis(r);
  EXPECT_FALSE(axis.by_time());
  EXPECT_EQ(axis.unit(), "step");
  EXPECT_THAT(html_report(r), Not(HasSubstr("UTC, 17 Nov")));
}

TEST(Axis, APauseBetweenStepsStaysAGap) {
  Report r = sample::step_change();
  for (size_t i = 500; i < r.attribution.steps.size(); ++i)
    r.attribution.steps.start[i] += 60 * sample::kSecond;
  const Axis axis(r);
  EXPECT_LT(axis.x_end_of_step(499) + 50, axis.x_of_step(500));
  EXPECT_DOUBLE_EQ(axis.x_end_of_step(498), axis.x_of_step(499));
}

TEST(Html, ComparisonIsAPage) {
  const std::string page = html_compare(sample::comparison());
  keep("compare", page);
  expect_well_formed(page);
  for (const char* expected :
       {"1.39× faster after than before", "Mean ratio 1.25×", "Mann-Whitney U: p = 0.026",
        "step 9 took 0.182 s", "loader.num_workers", "input wait"})
    EXPECT_THAT(page, HasSubstr(expected));
  EXPECT_THAT(page, Not(HasSubstr("<em>")));
  expect_well_formed(html_compare(Comparison{}));
}

}  // namespace
}  // namespace firstwait
