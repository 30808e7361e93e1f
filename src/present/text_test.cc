#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "present/layout.h"
#include "present/present.h"
#include "present/sample_comparison.h"
#include "present/sample_report.h"
#include "present/utf8.h"

namespace firstwait {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t from = 0; from < text.size();) {
    const size_t end = text.find('\n', from);
    lines.push_back(text.substr(from, end - from));
    from = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

std::string without_colour(std::string text) {
  for (size_t at = text.find("\x1b["); at != std::string::npos; at = text.find("\x1b["))
    text.erase(at, text.find('m', at) - at + 1);
  return text;
}

void expect_fits(const std::string& text) {
  for (const auto& line : lines_of(without_colour(text)))
    EXPECT_LE(display_width(line), 80U) << line;
}

std::vector<Report> all_states() {
  return {sample::step_change(), sample::chronic(),      sample::undetermined(),
          sample::healthy(),     sample::cannot_judge(), sample::inconclusive(),
          sample::periodic(),    sample::intermittent(), Report{}};
}

// Texts of every kind, much too long, without blanks, wide, and hostile.
Report stretched() {
  Report r = sample::step_change();
  const std::string word(200, 'w');
  const std::string wide = "計算ノード計算ノード計算ノード計算ノード計算ノード計算ノード計算ノード";
  r.job.id = word;
  r.hosts = {word, wide};
  r.headline = "Since " + word + ", because " + wide + wide + " " + word;
  Finding& f = r.findings[0];
  f.verdict.chain[1] = {word, wide, word};
  f.verdict.chain.push_back({wide, word, "1 → 2 s"});
  f.verdict.evidence[0].text = wide + word;
  f.actions[0].text = wide;
  f.actions[1].then_bound_by = word;
  f.actions[2].assumption = word;
  r.ruled_out[0].cause = word;
  r.ruled_out[1].reason = wide + wide;
  r.untested[0].needs = {word, wide};
  r.checklist[2].summary = word + wide;
  r.checklist[3].name = wide;
  r.symptoms.push_back(
      {word, "furlongs per fortnight per acre of the farm", "shape", 1e300, 5e-300});
  r.observations = {{word, wide, 0.1}};
  r.input_health[0].source = word;
  return r;
}

TEST(Text, NoLineIsWiderThan80Columns) {
  auto reports = all_states();
  reports.push_back(stretched());
  for (const auto& report : reports) {
    for (const bool utf8 : {true, false}) {
      for (const bool colour : {true, false}) {
        TextOptions options;
        options.utf8 = utf8;
        options.colour = colour;
        options.command = "firstwait diagnose " + std::string(150, 'x');
        options.input = std::string(150, 'x');
        expect_fits(text_report(report, options));
      }
    }
  }
}

TEST(Text, StepChangeSaysWhatTheMockUpSays) {
  TextOptions options;
  options.command = "firstwait diagnose site-a.fwb";
  options.input = "site-a.fwb";
  const std::string text = text_report(sample::step_change(), options);
  for (const char* expected :
       {"$ firstwait diagnose site-a.fwb\n",
        "resnet-17 · 8 ranks on node07, node08 · 1,000 steps in ",
        "\n4.8× slower since step 61,240 (17 Nov 2026, 11:16:37 UTC).\n",
        "\nAll 8 ranks wait for input, because reads from nfs01:/export are at its 500 MB/s\n",
        "Very likely, 94 %. 9 rivals refuted, 1 untested. Lost so far: 4.4 GPU h.\n",
        "WHERE EACH STEP GOES                          before s     now s    change\n",
        "  input wait  ████████████████████████████       0.002     0.458    +0.456\n",
        "  backward    ███▊                               0.062     0.062         ·\n",
        "  unexplained ▏                                  0.002     0.002         ·\n",
        "  step                                           0.120     0.576    +0.456\n",
        "  ○ GPUs 20 % busy              all 8                                  95 → 20 %\n",
        "  ◉ Export at its ceiling       nfs01:/export, flat 41 min         14 → 498 MB/s\n",
        "  2.00 s before the onset: Dataset change: dataset.path from /nvme/imagenet to\n",
        "  ✗ input.loader_underprovisioned   workers compute 50 %, not ≈ 100 %\n",
        "  ? node.physical                   untested: needs node_hwmon_*, IPMI\n",
        "WHAT HELPS                                           predicted  then bound by\n",
        "  1  Copy the dataset to local NVMe (854 GB)          1.9–2.1×  loader workers\n",
        "  –  12 workers alone                                     1.0×  the export\n",
        "  Gains do not add up. Caution for 3: samples change slightly; compare accuracy.\n",
        "  4 storage             suspect     498 of 500 MB/s; the waiting begins here\n",
        "  6 physical            unobserved  GPUs clear; no IPMI source\n",
        "MEASURE NEXT  an IPMI source on node07, node08: decides node.physical\n",
        "INPUT         3 files, 0 errors, 1 note · evidence: phases · replay error 1.3 %\n",
        "NEXT          firstwait diagnose site-a.fwb --format html --out resnet-17.html\n"})
    EXPECT_THAT(text, HasSubstr(expected));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Text, AGainWithoutALowerBoundIsAtMost) {
  const std::string text = text_report(sample::chronic(), {});
  EXPECT_THAT(text, HasSubstr("at most 1.66×"));
  EXPECT_THAT(text, HasSubstr("assumes that workers hide all loading"));
  EXPECT_THAT(text, HasSubstr("share\n"));
  EXPECT_THAT(text, HasSubstr("39.7 %\n"));
}

TEST(Text, RelativeTimesGetNoDate) {
  EXPECT_THAT(text_report(sample::chronic(), {}), Not(HasSubstr("UTC")));
  Report r = sample::step_change();
  r.start = r.end = kNoTime;
  EXPECT_THAT(text_report(r, {}), Not(HasSubstr("UTC")));
}

TEST(Text, TimesWithoutAUnitGetNone) {
  Report r = sample::step_change();
  r.job.unitless = true;
  r.attribution.outliers = {{5, 2, 476, 1.5, Phase::unexplained}};
  r.symptoms.clear();
  const std::string text = text_report(r, {});
  EXPECT_THAT(text, HasSubstr("      before       now    change\n"));
  EXPECT_THAT(text, HasSubstr("Step 5 (rank 2) took 1.5× its neighbours: 476."));
  EXPECT_THAT(text, Not(HasSubstr("GPU h")));
}

TEST(Text, TheRingIsOnlyShownWhereAnOriginIsNamed) {
  EXPECT_THAT(text_report(sample::step_change(), {}), HasSubstr("◉"));
  for (const auto& r : {sample::undetermined(), sample::healthy(), sample::cannot_judge(),
                        sample::inconclusive(), sample::intermittent()})
    EXPECT_THAT(text_report(r, {}), Not(HasSubstr("◉")));
  Report possible = sample::step_change();
  possible.verdict_word = "possible";
  possible.findings[0].confidence = 0.6;
  TextOptions colour;
  colour.colour = true;
  EXPECT_THAT(text_report(possible, colour), Not(HasSubstr("31m")));
}

TEST(Text, ColourIsRedForTheOriginAndNothingElse) {
  TextOptions options;
  options.colour = true;
  const std::string text = text_report(sample::step_change(), options);
  EXPECT_THAT(text, HasSubstr("\x1b[1mAll 8 ranks wait for input, because \x1b[0m"
                              "\x1b[1;31mreads from nfs01:/export are at its 500 MB/s\x1b[0m\n"));
  EXPECT_THAT(text, HasSubstr("\x1b[31m  ◉ Export at its ceiling"));
  EXPECT_EQ(without_colour(text), text_report(sample::step_change(), {}));
  for (const auto& r : {sample::undetermined(), sample::healthy(), sample::cannot_judge()})
    EXPECT_THAT(text_report(r, options), Not(HasSubstr("31m")));
}

TEST(Text, AsciiFallbackHoldsNoOtherSign) {
  TextOptions options;
  options.utf8 = false;
  auto reports = all_states();
  reports.push_back(stretched());
  for (const auto& report : reports)
    for (const char c : text_report(report, options))
      ASSERT_TRUE(c == '\n' || (c >= ' ' && c < 0x7F));
  const std::string text = text_report(sample::step_change(), options);
  EXPECT_THAT(text, HasSubstr("  (o) Export at its ceiling     nfs01:/export"));
  EXPECT_THAT(text, HasSubstr("  o   GPUs 20 % busy"));
  EXPECT_THAT(text, HasSubstr("  input wait  ############################"));
  EXPECT_THAT(text, HasSubstr("  x input.cpu_saturated"));
  EXPECT_THAT(text, HasSubstr("4.8x slower"));
}

TEST(Text, EscapeSequencesInNamesDoNotPass) {
  Report r = sample::step_change();
  const std::string evil =
      "node\x1b]0;owned\x07\x1b[31m\xc2\x9b"
      "2J\r\nfake line \xe2\x80\xae";
  r.job.id = r.job.owner = evil;
  r.hosts = {evil};
  r.headline = evil + ", because " + evil;
  r.findings[0].title = r.findings[0].cause = evil;
  for (auto& link : r.findings[0].verdict.chain) link = {evil, evil, evil};
  for (auto& row : r.findings[0].verdict.evidence) row.text = evil;
  for (auto& a : r.findings[0].actions) a.text = a.caution = a.assumption = a.then_bound_by = evil;
  for (auto& x : r.ruled_out) x.cause = x.reason = evil;
  for (auto& u : r.untested) u.needs = {evil};
  for (auto& c : r.checklist) c.name = c.summary = evil;
  for (auto& s : r.symptoms) s.signal = s.shape = s.unit = evil;
  for (auto& n : r.next_measurements) n.text = evil;
  for (auto& e : r.events) e.attributes = {{evil, evil}};
  for (auto& h : r.input_health) h.source = h.first_place = evil;
  r.observations = {{evil, evil, {}}};
  TextOptions options;
  options.command = options.input = evil;
  const std::string text = text_report(r, options);
  for (std::string_view rest = text; !rest.empty();) {
    const char32_t c = next_code_point(rest);
    ASSERT_FALSE((c < 0x20 && c != '\n') || (c >= 0x7F && c < 0xA0) || c == 0x202E)

        << static_cast<uint32_t>(c);
  }
  for (const auto& line : lines_of(text)) EXPECT_FALSE(line.starts_with("fake line"));
}

TEST(Text, NothingJudgedShowsTheInputAndItsRemedy) {
  const std::string text = text_report(sample::cannot_judge(), {});
  EXPECT_THAT(text, HasSubstr("Cannot judge: no step times were found."));
  EXPECT_THAT(text, HasSubstr("1 file, 0 errors, 1 loss of data, 0 notes"));
  EXPECT_THAT(text, HasSubstr("Data lost: truncated json 3× in broken.json.gz, first at byte\n"));
  EXPECT_THAT(text, HasSubstr("copy it again."));
  for (const char* absent :
       {"WHERE EACH STEP GOES", "FROM SYMPTOM", "WHAT HELPS", "WHY NOT", "nan"})
    EXPECT_THAT(text, Not(HasSubstr(absent)));
}

TEST(Text, AnEmptyReportStillSaysSomethingTrue) {
  const std::string text = text_report(Report{}, {});
  EXPECT_THAT(text, HasSubstr("Cannot judge"));
  EXPECT_THAT(text, HasSubstr("0 files"));
}

TEST(Text, SlowStepsAreNamedAndLongListsCut) {
  const std::string text = text_report(sample::intermittent(), {});
  EXPECT_THAT(text,
              HasSubstr("Steps 100, 107, 114, 121, 128, 135, 142, 149 and 6 more took 1.7–3.0×"));
  Report two = sample::chronic();
  two.attribution.outliers = {{5, -1, 0.164, 1.41, Phase::host}, {9, -1, 0.182, 1.57, Phase::host}};
  EXPECT_THAT(
      text_report(two, {}),
      HasSubstr("Steps 5 and 9 took 1.41–1.57× their neighbours: 0.164 s and 0.182 s; host"));
}

TEST(Text, AnObservationIsNotSaidTwice) {
  Report r = sample::healthy();
  r.attribution.offsets = {{5, 1.08, 0.02}, {2, 1.04, 0.01}};
  r.attribution.outliers = {{5, -1, 0.2, 1.5, Phase::unexplained}};
  r.observations = {{"Worker 5 is 8 % above the median", "rank/5", 0.02},
                    {"Step 5 took 1.5× its neighbours", "", {}}};
  const std::string text = text_report(r, {});
  EXPECT_THAT(text, HasSubstr("Worker 5 is 8 % above the median"));
  EXPECT_THAT(text, Not(HasSubstr("Rank 5 is")));
  EXPECT_THAT(text,
              HasSubstr("Rank 2 is 4 % above the median rank throughout; it costs 10 ms per"));
  EXPECT_THAT(text, Not(HasSubstr("Step 5 took 1.5× its neighbours: ")));
}

TEST(Text, CausesOfAFamilyWithOneAnswerShareALine) {
  Report r = sample::step_change();
  for (const auto* cause : {"change.config", "change.dataset", "change.software"})
    r.ruled_out.insert(r.ruled_out.begin(), {cause, "no onset in 6 steps", {}});
  EXPECT_THAT(text_report(r, {}),
              HasSubstr("change.* (3 causes)             no onset in 6 steps\n"));
}

TEST(Text, AJobWithoutANameIsCalledByWhatWasRead) {
  Report r = sample::step_change();
  r.job.id.clear();
  r.label = "loader_workers_0";
  EXPECT_THAT(text_report(r, {}), HasSubstr("loader_workers_0 · "));
}

TEST(Text, AFewGpuMinutesAreNotCalledALoss) {
  Report r = sample::step_change();
  r.findings[0].cost_gpu_hours = 0.000115;
  EXPECT_THAT(text_report(r, {}), Not(HasSubstr("Lost so far")));
}

TEST(Text, AnEpisodeThatIsOverIsSaid) {
  Report r = sample::healthy();
  r.attribution.episodes = {{10, 20, {}, 1.5, 0.05}};
  EXPECT_THAT(text_report(r, {}), HasSubstr("Steps 10 to 20 were slow: 1.5× those around them"));
}

TEST(Text, RefutedListIsCutAndRelevantUntestedComeFirst) {
  Report r = sample::step_change();
  for (int i = 0; i < 20; ++i) {
    r.ruled_out.push_back({"other.cause", std::to_string(i) + " %", {}});
    r.untested.insert(r.untested.begin(), {"far.fetched", {"x"}, false});
  }
  const std::string text = text_report(r, {});
  EXPECT_THAT(text, HasSubstr("    and 17 more refuted\n"));
  EXPECT_THAT(text, HasSubstr("? node.physical"));
  EXPECT_THAT(text, Not(HasSubstr("far.fetched")));
  EXPECT_THAT(text, HasSubstr("far.* (20 causes)"));  // one line for the family
  EXPECT_THAT(text, HasSubstr("21 untested (1 could matter here)"));
}

TEST(Text, ComparisonNamesRatiosOutliersAndTheChangedPhase) {
  const std::string text = text_compare(sample::comparison(), {});
  expect_fits(text);
  for (const char* expected :
       {"before        loader_workers_0 · 6 steps · 1 rank · evidence: ops\n",
        "1.39× faster after than before (medians): input wait went from 0.069 s to",
        "Mean ratio 1.25×, median ratio 1.39×; 95 % interval of the mean 1.07–1.43×.",
        "Mann-Whitney U: p = 0.026.",
        "  mean                                   0.175       0.140      -0.035    1.25×\n",
        "  input wait                             0.069       0.002      -0.067      33×\n",
        "After: step 5 took 0.164 s, 1.31× its neighbours; host grew most.",
        "After: step 9 took 0.182 s", "loader.num_workers of job/a: 0 → 4", "53 → 71 %"})
    EXPECT_THAT(text, HasSubstr(expected));
}

TEST(Text, AnUndecidedComparisonClaimsNothing) {
  Comparison c = sample::comparison();
  c.distinguishable = false;
  EXPECT_THAT(text_compare(c, {}), HasSubstr("Not distinguishable"));
  EXPECT_THAT(text_compare(c, {}), Not(HasSubstr("faster")));
  c.distinguishable.reset();
  EXPECT_THAT(text_compare(c, {}), HasSubstr("Too few steps"));
  expect_fits(text_compare(Comparison{}, {}));
  EXPECT_THAT(text_compare(Comparison{}, {}), HasSubstr("Cannot compare"));
}

}  // namespace
}  // namespace firstwait
