// present: the only place with layout, words for numbers, and charts. Text, JSON and HTML say the same.
#pragma once
#include <string>

#include "model/verdict.h"

namespace firstwait {

struct TextOptions {
  bool colour = false;  // ANSI colours
  bool utf8 = true;     // otherwise the ASCII fallback: # o (o) x
  std::string command;  // shown after "$ " on top; empty: nothing
  std::string input;    // used in the "NEXT" line
};

std::string text_report(const Report& report, const TextOptions& options);  // 80 columns
std::string json_report(const Report& report);                              // firstwait.report/1
std::string html_report(const Report& report);                              // one self-contained file

}  // namespace firstwait
