// present: the only place with layout, words for numbers, and charts. Text, JSON and HTML say the
// same.
#pragma once
#include <cstdio>
#include <string>

#include "model/comparison.h"
#include "model/evidence.h"
#include "model/verdict.h"

namespace firstwait {

struct TextOptions {
  bool colour = false;  // ANSI colours
  bool utf8 = true;     // otherwise the ASCII fallback: # o (o) x
  std::string command;  // shown after "$ " on top; empty: nothing
  std::string input;    // used in the "NEXT" line
};

std::string text_report(const Report& report, const TextOptions& options);  // 80 columns
// A few lines for a job that is still running: the ledger and the present suspicion.
std::string text_live(const Report& report, const TextOptions& options);
std::string json_report(const Report& report);  // firstwait.report/1
std::string html_report(const Report& report);  // one self-contained file

std::string text_compare(const Comparison& comparison, const TextOptions& options);
std::string json_compare(const Comparison& comparison);  // firstwait.compare/1
std::string html_compare(const Comparison& comparison);

// Trace Event JSON, as Perfetto and chrome://tracing load it, written as it is made. Times count
// from the first one recorded. Where only durations of phases are known they are laid one after the
// other and say so. A write that fails is left in ferror(out).
void write_perfetto(const Evidence& evidence, const Attribution& attribution, std::FILE* out);

}  // namespace firstwait
