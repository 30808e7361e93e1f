#include "apps/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "base/text.h"
#include "explain/compare.h"
#include "explain/predict.h"
#include "present/prediction.h"
#include "present/present.h"
#include "present/utf8.h"

namespace firstwait {
namespace {

// As a shell reads it back: names may hold anything.
std::string quoted(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./,:=@%+-").find(c) != std::string_view::npos;
  };
  std::string safe = word.starts_with('-') ? "./" + word : word;
  if (!safe.empty() && std::all_of(safe.begin(), safe.end(), plain)) return safe;
  std::string out = "'";
  for (const char c : safe) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& p : parts) out += (out.empty() ? "" : " ") + quoted(p);
  return out;
}

// What was read must not be written over.
std::optional<Error> overwrites(const Evidence& evidence, const std::string& out) {
  std::error_code error;
  for (const auto& source : evidence.sources)
    if (!out.empty() && std::filesystem::equivalent(source.path, out, error))
      return Error{"the output would replace an input", out, "name another file"};
  return std::nullopt;
}

// A number that the user may give by name, and what it can be.
struct Given {
  std::string_view name;
  double least, most;
};
// Speeds and times of 0 give no prediction; loading without workers is no change that helps.
constexpr Given kSettable[] = {{"loader.num_workers", 1, 1e6}};
constexpr Given kAssumable[] = {{"storage.read_bytes_per_second", 1, 1e18},
                                {"loader.seconds_per_sample", 1e-12, 1e9}};

Result<Assumptions> key_values(std::string_view option, const std::vector<std::string>& pairs,
                               std::span<const Given> known) {
  std::string names;
  for (const Given& g : known) names += (names.empty() ? "" : ", ") + std::string(g.name);
  Assumptions out;
  for (const auto& pair : pairs) {
    const std::string where = fmt::format("{} {}", option, pair);
    const size_t at = pair.find('=');
    const auto value = at == std::string::npos
                           ? std::nullopt
                           : parse_double(std::string_view(pair).substr(at + 1));
    if (!value || at == 0)
      return Error{"not name=number", where, fmt::format("name one of: {}", names)};
    const auto* given = std::find_if(known.data(), known.data() + known.size(),
                                     [&](const Given& g) { return g.name == pair.substr(0, at); });
    if (given == known.data() + known.size())
      return Error{"unknown name", where, fmt::format("name one of: {}", names)};
    if (!(*value >= given->least && *value <= given->most))
      return Error{"not a possible value", where,
                   fmt::format("give a number from {} to {}", given->least, given->most)};
    out[std::string(given->name)] = *value;
  }
  return out;
}

bool goes_to_terminal(const OutputOptions& output) {
  return output.out.empty() && ::isatty(STDOUT_FILENO) != 0;
}

}  // namespace

TextOptions text_options(bool to_terminal, std::string command, std::string input) {
  TextOptions t;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  t.colour = to_terminal && (no_colour == nullptr || *no_colour == 0) &&
             (term == nullptr || std::strcmp(term, "dumb") != 0);
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == 0) continue;
    t.utf8 = contains_ignoring_case(value, "utf-8") || contains_ignoring_case(value, "utf8");
    break;
  }
  t.command = std::move(command);
  t.input = std::move(input);
  return t;
}

std::string formatted(const Report& report, const std::string& format, const TextOptions& text) {
  if (format == "json") return json_report(report);
  return format == "html" ? html_report(report) : text_report(report, text);
}

int fail(const Error& error) {
  std::string line = "firstwait: " + error.what;
  if (!error.where.empty()) line += " (" + error.where + ")";
  if (!error.remedy.empty()) line += "; " + error.remedy;
  std::fprintf(stderr, "%s\n", clean_text(line).c_str());  // names are not ours: no escape codes
  return kUsage;
}

int deliver(const std::string& text, const OutputOptions& options) {
  if (options.out.empty()) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if ((std::fflush(stdout) != 0 || !written) && errno != EPIPE)
      return fail({std::strerror(errno), "standard output", ""});
    return kAnalysed;
  }
  std::FILE* file = std::fopen(options.out.c_str(), "wb");
  if (file == nullptr)
    return fail({std::strerror(errno), options.out, "name a file that can be written"});
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written)
    return fail({std::strerror(errno), options.out, "free some space"});
  return kAnalysed;
}

int diagnose(const DiagnoseOptions& options) {
  auto analysis = analyse(options.inputs, options.analyse);
  if (!analysis) return fail(analysis.error());
  const Report& report = analysis->report;
  if (const auto clash = overwrites(*analysis->evidence, options.output.out)) return fail(*clash);
  const std::string inputs = joined(options.inputs);
  const int rc = deliver(formatted(report, options.output.format,
                                   text_options(goes_to_terminal(options.output),
                                                "firstwait diagnose " + inputs, inputs)),
                         options.output);
  if (rc != kAnalysed) return rc;
  for (const auto& f : report.findings)
    if (f.cause != "healthy.compute_bound" && f.confidence >= options.fail_on)
      return kFindingReached;
  return kAnalysed;
}

int compare_runs(const CompareOptions& options) {
  auto before = analyse({options.before}, options.analyse);
  if (!before) return fail(before.error());
  auto after = analyse({options.after}, options.analyse);
  if (!after) return fail(after.error());
  for (const auto* side : {&before, &after})
    if (const auto clash = overwrites(*(*side)->evidence, options.output.out)) return fail(*clash);
  const Comparison c = compare({options.before, *before->evidence, before->report},
                               {options.after, *after->evidence, after->report});
  int rc = 0;
  if (options.output.format == "json") {
    rc = deliver(json_compare(c), options.output);
  } else if (options.output.format == "html") {
    rc = deliver(html_compare(c), options.output);
  } else {
    const std::string inputs = joined({options.before, options.after});
    rc = deliver(text_compare(c, text_options(goes_to_terminal(options.output),
                                              "firstwait compare " + inputs, inputs)),
                 options.output);
  }
  // Said in the output; for a script the same as nothing readable.
  const bool compared = c.before.steps > 0 && c.after.steps > 0;
  return rc == kAnalysed && !compared ? kUsage : rc;
}

int what_if(const WhatIfOptions& options) {
  const auto ids = action_ids();
  if (std::find(ids.begin(), ids.end(), options.action) == ids.end())
    return fail(
        {"unknown action " + options.action, "--apply", "`firstwait list actions` shows them"});
  const auto set = key_values("--set", options.set, kSettable);
  if (!set) return fail(set.error());
  const auto assume = key_values("--assume", options.assume, kAssumable);
  if (!assume) return fail(assume.error());
  auto analysis = analyse(options.inputs, options.analyse);
  if (!analysis) return fail(analysis.error());
  if (const auto clash = overwrites(*analysis->evidence, options.output.out)) return fail(*clash);
  const View view{*analysis->evidence, analysis->report.attribution};
  const Prediction p = predict(view, analysis->report, options.action, *set, *assume);
  if (options.output.format == "json") return deliver(json_prediction(p), options.output);
  return deliver(text_prediction(p), options.output);
}

int export_trace(const ExportOptions& options) {
  auto analysis = analyse(options.inputs, options.analyse);
  if (!analysis) return fail(analysis.error());
  if (const auto clash = overwrites(*analysis->evidence, options.perfetto)) return fail(*clash);
  std::FILE* file = std::fopen(options.perfetto.c_str(), "wb");
  if (file == nullptr)
    return fail({std::strerror(errno), options.perfetto, "name a file that can be written"});
  write_perfetto(*analysis->evidence, analysis->report.attribution, file);
  const bool bad = std::ferror(file) != 0;
  if (std::fclose(file) != 0 || bad)
    return fail({std::strerror(errno), options.perfetto, "free some space"});
  return kAnalysed;
}

}  // namespace firstwait
