// Every hypothesis runs over every case of tests/cases: the cause expected, and no other.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing/test_data.h"
#include "explain/ranking.h"
#include "explain/testing/case_file.h"

namespace firstwait {
namespace {

std::vector<DiagnosisCase> all_cases() {
  std::vector<DiagnosisCase> out;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/cases"))
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    for (auto& c : read_cases(text.str(), path.filename().string())) out.push_back(std::move(c));
  }
  return out;
}

bool named(const DiagnosisCase& c, std::string_view id) {
  return std::any_of(c.expected.begin(), c.expected.end(),
                     [&](const auto& e) { return e.cause == id; }) ||
         std::find(c.allowed.begin(), c.allowed.end(), id) != c.allowed.end();
}

std::string words(const Verdict& v) {
  std::string out = v.outcome == Outcome::supported ? "supported: " + v.because
                    : v.outcome == Outcome::refuted ? "refuted: " + v.reason
                                                    : "untested";
  for (const auto& n : v.needs) out += "; " + n;
  return out;
}

void check(const DiagnosisCase& c) {
  const View view = c.evidence->view();
  auto tested = test_all(view);
  rank(view, 0, tested);
  const Tested* top = nullptr;
  for (const auto& t : tested) {
    const auto id = t.hypothesis->id;
    const bool supported = t.verdict.outcome == Outcome::supported;
    if (supported) {
      EXPECT_TRUE(named(c, id)) << id << " " << words(t.verdict) << " (llr " << t.verdict.llr
                                << ")";
      EXPECT_FALSE(t.verdict.because.empty()) << id;
      EXPECT_GT(t.verdict.llr, 0) << id;
      if (top == nullptr || t.confidence > top->confidence) top = &t;
    }
    if (t.verdict.outcome == Outcome::refuted) {
      EXPECT_FALSE(t.verdict.reason.empty()) << id;
    }
    if (t.verdict.outcome == Outcome::untested) {
      EXPECT_FALSE(t.verdict.needs.empty()) << id;
    }
    for (const auto& e : c.expected) {
      if (e.cause != id) continue;
      EXPECT_TRUE(supported) << id << " " << words(t.verdict);
      EXPECT_GE(t.verdict.llr, e.least) << id;
    }
    if (std::find(c.refuted.begin(), c.refuted.end(), id) != c.refuted.end()) {
      EXPECT_EQ(t.verdict.outcome, Outcome::refuted) << id << " " << words(t.verdict);
    }
  }
  if (!c.expected.empty() && top != nullptr) {
    EXPECT_EQ(top->hypothesis->id, c.expected.front().cause) << "is not the most likely";
  }
}

TEST(Cases, EveryCaseIsDiagnosedAndNothingElseAccused) {
  const auto cases = all_cases();
  ASSERT_GE(cases.size(), 40u);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.file + ":" + std::to_string(c.line) + " " + c.title);
    for (const auto& e : c.errors) ADD_FAILURE() << "cannot be read: " << e;
    ASSERT_NE(c.evidence, nullptr);
    check(c);
  }
}

TEST(Cases, EveryCauseNamedExists) {
  for (const auto& c : all_cases())
    for (const auto& e : c.expected)
      EXPECT_TRUE(std::any_of(hypotheses().begin(), hypotheses().end(),
                              [&](const auto& h) { return h.module->id == e.cause; }))
          << c.title << ": " << e.cause;
}

TEST(Cases, NothingIsSupportedFromNothing) {
  for (const bool onset : {false, true}) {
    ViewBuilder b(onset);
    for (const auto& t : test_all(b.view()))
      EXPECT_NE(t.verdict.outcome, Outcome::supported)
          << t.hypothesis->id << " " << t.verdict.because;
  }
  const Evidence evidence;
  const Attribution attribution;
  for (const auto& t : test_all({evidence, attribution}))
    EXPECT_EQ(t.verdict.outcome, Outcome::untested) << t.hypothesis->id << " " << words(t.verdict);
}

TEST(Cases, FileFormatReportsWhatItCannotRead) {
  const auto cases = read_cases("case a\nphase input_wait 1 -> 2\nnonsense here\n", "x.case");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].errors, std::vector<std::string>{"3: nonsense here"});
}

TEST(Cases, DescriptorsAreComplete) {
  for (const auto& h : hypotheses()) {
    std::string file(h.module->id);
    std::replace(file.begin(), file.end(), '.', '_');
    EXPECT_EQ(h.file, file);
    EXPECT_FALSE(h.module->claim.empty() || h.module->claim.ends_with('.')) << h.file;
    EXPECT_FALSE(h.module->needs.empty()) << h.file;
    EXPECT_FALSE(h.module->accounts_for.empty()) << h.file;
    EXPECT_TRUE(h.module->checklist_step >= 1 && h.module->checklist_step <= 7) << h.file;
    for (const auto& t : h.module->thresholds)
      EXPECT_GT(t.source.size(), 10u) << h.file << " " << t.name;
  }
}

}  // namespace
}  // namespace firstwait
