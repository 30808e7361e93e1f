// The commands of `firstwait`: each takes what the user asked for and returns the exit code
// (FORMATS section 4).
#pragma once
#include <string>
#include <vector>

#include "apps/analyse.h"
#include "present/present.h"

namespace firstwait {

inline constexpr int kAnalysed = 0, kFindingReached = 1, kUsage = 2;

struct OutputOptions {
  std::string format = "text";  // text, json, html
  std::string out;              // a file; empty: standard output
};

struct DiagnoseOptions {
  AnalyseOptions analyse;
  OutputOptions output;
  std::vector<std::string> inputs;
  double fail_on = 2;  // a confidence; above 1: never
};
int diagnose(const DiagnoseOptions& options);

struct CompareOptions {
  AnalyseOptions analyse;
  OutputOptions output;
  std::string before, after;
};
int compare_runs(const CompareOptions& options);

struct WhatIfOptions {
  AnalyseOptions analyse;
  OutputOptions output;
  std::vector<std::string> inputs;
  std::string action;
  std::vector<std::string> set, assume;  // "key=value"
};
int what_if(const WhatIfOptions& options);

struct ExportOptions {
  AnalyseOptions analyse;
  std::vector<std::string> inputs;
  std::string perfetto;  // the file to write
};
int export_trace(const ExportOptions& options);

// collectors, importers, hypotheses, actions or metrics
int list(const std::string& what, const std::string& format);

struct DoctorOptions {
  std::string format = "text";
  std::string root;  // where another machine's tree lies; empty: this machine
};
// What this machine offers, what each missing source would add, and what to do about it.
int doctor(const DoctorOptions& options);

struct BundleOptions {
  std::string out;      // *.fwb
  bool redact = false;  // names of hosts, users and paths replaced
  double seconds = 10;  // for how long this machine is sampled
};
int bundle(const BundleOptions& options);

// Colour on a terminal only, NO_COLOR respected; UTF-8 unless the locale says otherwise.
TextOptions text_options(bool to_terminal, std::string command, std::string input);
// Text, JSON or HTML, as asked.
std::string formatted(const Report& report, const std::string& format, const TextOptions& text);

// Prints an error as "firstwait: what (where). remedy" and returns kUsage.
int fail(const Error& error);
// Writes to the file or to standard output.
int deliver(const std::string& text, const OutputOptions& options);

}  // namespace firstwait
