// For tests only: reads tests/cases/*.case, each a list of cases in plain text.
//
//   case <title>
//   pattern chronic | step | none | periodic <steps> <ratio> | intermittent
//   rank <n> <host>                          one rank; `rank 0-7 node07` several
//   phase <name> <now>                       seconds per step
//   phase <name> <before> -> <now>
//   steps <count> <seconds> [every <n> x<ratio>] [at <i>,<i>.. x<ratio>] [epoch <n>]
//                                            the job's step times
//   gauge|counter <metric>{k=v,..} <entity> <now>  |  <before> -> <now>
//   setting <entity> <key> = <value>         setting@onset: a later row, at the onset
//   event <kind> <entity> <seconds after the onset> [k=v ..]
//   trace <field>=<value> ..                 facts of a profiler trace, one rank
//   loader <workers> <work s/step> <reading share> [queued <n>]
//   productive <ratio>
//   expect <cause> [<least llr>]
//   allow <cause>
//   refute <cause>
//
// A cause that is supported and neither expected nor allowed fails; the first expected must be the
// most likely.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "explain/testing/view_builder.h"

namespace firstwait {

struct CaseExpectation {
  std::string cause;
  double least = 0;
};

struct DiagnosisCase {
  DiagnosisCase();
  ~DiagnosisCase();
  DiagnosisCase(DiagnosisCase&&) noexcept;
  std::string file, title;
  int line = 0;
  std::unique_ptr<ViewBuilder> evidence;
  std::vector<CaseExpectation> expected;
  std::vector<std::string> allowed, refuted;
  std::vector<std::string> errors;  // lines that could not be read
};

// All cases of one file's text. `pattern` must come first in a case when it is not a step change.
std::vector<DiagnosisCase> read_cases(std::string_view text, const std::string& file);

// What a hypothesis says to one case, given without its first line.
Verdict test_case(const Hypothesis& hypothesis, const std::string& text);

}  // namespace firstwait
