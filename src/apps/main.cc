// The command line of `firstwait`: parses, hands over to a command, returns its
// exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/attach.h"
#include "apps/commands.h"
#include "apps/config_file.h"
#include "apps/demo.h"
#include "apps/run.h"
#include "base/text.h"

namespace firstwait {
namespace {

// Epoch seconds or ISO 8601.
Ns time_or_none(const std::string& text) {
  if (text.empty()) return kNoTime;
  if (const auto iso = parse_iso8601_ns(text)) return *iso;
  return parse_time_ns(text).value_or(kNoTime);
}

const CLI::Validator kTime(
    [](std::string& text) {
      return time_or_none(text) == kNoTime
                 ? "'" + text + "' is no time; write 2026-11-18T11:16:37Z or epoch seconds"
                 : std::string();
    },
    "TIME");

// CLI11's own range lets "nan" pass.
CLI::Validator number_between(double low, double high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        const auto value = parse_double(text);
        return value && *value >= low && *value <= high
                   ? std::string()
                   : fmt::format("'{}' is no number from {} to {}", text, low, high);
      },
      "NUMBER");
}

// An option that is given must say something: an empty word is mostly a variable that is not set.
const CLI::Validator kNotEmpty(
    [](std::string& text) {
      return text.empty() ? std::string("the value is empty; write one, or leave the option away")
                          : std::string();
    },
    "TEXT");

struct Common {
  AnalyseOptions analyse;
  std::string since, until;

  void add_to(CLI::App& command) {
    command
        .add_option("--job", analyse.align.job,
                    "Analyse this job; default: the one with the most rows")
        ->check(kNotEmpty)
        ->envname("FIRSTWAIT_JOB");
    command.add_option("--since", since, "Ignore what was before (ISO 8601 or epoch seconds)")
        ->check(kTime);
    command.add_option("--until", until, "Ignore what came after")->check(kTime);
    command
        .add_option("--log-pattern", analyse.import.log_pattern,
                    "Regular expression for training logs, with groups (?<step>), (?<duration_s>) "
                    "or (?<time>), (?<rank>)")
        ->check(kNotEmpty)
        ->envname("FIRSTWAIT_LOG_PATTERN");
  }
  const AnalyseOptions& finished() {
    analyse.align.since = time_or_none(since);
    analyse.align.until = time_or_none(until);
    analyse.progress = true;
    return analyse;
  }
};

void add_output(CLI::App& command, OutputOptions& output, bool html) {
  std::vector<std::string> formats = {"text", "json"};
  if (html) formats.emplace_back("html");
  command.add_option("--format", output.format, "Output format")
      ->check(CLI::IsMember(formats))
      ->envname("FIRSTWAIT_FORMAT");
  command.add_option("--out", output.out, "Write to this file instead of standard output")
      ->check(kNotEmpty);
}

int run(int argc, char** argv) {
  CLI::App app{
      "Tells why an AI training job is slow: where the waiting begins, since when, and what would "
      "help."};
  app.name("firstwait");
  app.set_version_flag("--version", "firstwait " FIRSTWAIT_VERSION);
  app.require_subcommand(1);
  int rc = kAnalysed;

  Common common;
  DiagnoseOptions d;
  auto* diagnose_command =
      app.add_subcommand("diagnose", "Explain traces, logs, metrics and bundles");
  diagnose_command->add_option("INPUT", d.inputs, "Files, directories or bundles, any mix")
      ->required()
      ->check(kNotEmpty);
  common.add_to(*diagnose_command);
  add_output(*diagnose_command, d.output, true);
  diagnose_command
      ->add_option("--fail-on", d.fail_on, "Exit 1 when a finding reaches this confidence")
      ->check(number_between(0, 1));
  diagnose_command->callback([&] {
    d.analyse = common.finished();
    rc = diagnose(d);
  });

  CompareOptions c;
  auto* compare_command =
      app.add_subcommand("compare", "Compare two runs: effect, interval, what changed");
  for (auto& [name, input] : {std::pair<const char*, std::string&>{"BEFORE", c.before},
                              std::pair<const char*, std::string&>{"AFTER", c.after}})
    compare_command->add_option(name, input, "File, directory or bundle")
        ->required()
        ->check(kNotEmpty);
  common.add_to(*compare_command);
  add_output(*compare_command, c.output, true);
  compare_command->callback([&] {
    c.analyse = common.finished();
    rc = compare_runs(c);
  });

  WhatIfOptions w;
  auto* what_if_command = app.add_subcommand("what-if", "Predict what an action would bring");
  what_if_command->add_option("INPUT", w.inputs, "Files, directories or bundles")
      ->required()
      ->check(kNotEmpty);
  what_if_command->add_option("--apply", w.action, "Action id, see `firstwait list actions`")
      ->required();
  what_if_command->add_option("--set", w.set,
                              "A setting after the change, such as loader.num_workers=12");
  what_if_command->add_option("--assume", w.assume,
                              "A resource, such as storage.read_bytes_per_second=3e9");
  common.add_to(*what_if_command);
  add_output(*what_if_command, w.output, false);
  what_if_command->callback([&] {
    w.analyse = common.finished();
    rc = what_if(w);
  });

  ExportOptions e;
  auto* export_command = app.add_subcommand("export", "Write the timeline for Perfetto");
  export_command->add_option("--perfetto", e.perfetto, "The trace file to write")
      ->required()
      ->check(kNotEmpty);
  export_command->add_option("INPUT", e.inputs, "Files, directories or bundles")
      ->required()
      ->check(kNotEmpty);
  common.add_to(*export_command);
  export_command->callback([&] {
    e.analyse = common.finished();
    rc = export_trace(e);
  });

  DoctorOptions doctor_options;
  auto* doctor_command =
      app.add_subcommand("doctor", "Show what this machine offers and what is missing");
  doctor_command->add_option("--format", doctor_options.format, "Output format")
      ->check(CLI::IsMember({"text", "json"}));
  doctor_command
      ->add_option("--root", doctor_options.root, "Where the host's / is mounted, in a container")
      ->check(CLI::ExistingDirectory);
  doctor_command->callback([&] { rc = doctor(doctor_options); });

  BundleOptions bundle_options;
  auto* bundle_command =
      app.add_subcommand("bundle", "Sample this machine and write the evidence as one file");
  bundle_command->add_option("-o,--out", bundle_options.out, "The file to write (*.fwb)")
      ->required()
      ->check(kNotEmpty);
  bundle_command->add_flag(
      "--redact", bundle_options.redact,
      "Replace names of hosts, users and paths, the same one by the same everywhere");
  bundle_command->add_option("--seconds", bundle_options.seconds, "Sample for this long")
      ->check(number_between(0, 3600));
  bundle_command->callback([&] { rc = bundle(bundle_options); });

  RunOptions r;
  auto* run_subcommand =
      app.add_subcommand("run", "Run a program, collect its evidence and explain it when it ends");
  run_subcommand->add_option("--name", r.name, "The job's name; default: the script's")
      ->check(kNotEmpty)
      ->envname("FIRSTWAIT_NAME");
  run_subcommand->add_option("--out", r.out, "Folder of the evidence bundle")->check(kNotEmpty);
  run_subcommand->add_flag("--live", r.live,
                           "Show the ledger and the present suspicion every few seconds");
  run_subcommand->add_option("--format", r.format, "Format of the report")
      ->check(CLI::IsMember({"text", "json", "html"}));
  run_subcommand
      ->add_option("--report", r.report, "Write the report to this file instead of standard error")
      ->check(kNotEmpty);
  run_subcommand->add_option("CMD", r.command, "The program and its arguments, after --")
      ->required();
  run_subcommand->positionals_at_end();
  run_subcommand->callback([&] { rc = run_command(r); });

  AttachOptions a;
  auto* attach_subcommand =
      app.add_subcommand("attach", "Watch a running process from outside and explain what is seen");
  attach_subcommand->add_option("--pid", a.pid, "The process, with all that descend from it")
      ->required()
      ->check(number_between(1, INT32_MAX));
  attach_subcommand->add_option("--for", a.seconds, "Seconds; default: until it ends, or Ctrl-C")
      ->check(number_between(0, 1e9));
  attach_subcommand->add_option("--name", a.name, "The job's name; default: the script's")
      ->check(kNotEmpty);
  attach_subcommand->add_option("--out", a.out, "Folder of the evidence bundle")->check(kNotEmpty);
  attach_subcommand->add_option("--format", a.format, "Format of the report")
      ->check(CLI::IsMember({"text", "json", "html"}));
  attach_subcommand
      ->add_option("--report", a.report, "Write the report to this file instead of standard error")
      ->check(kNotEmpty);
  attach_subcommand->callback([&] { rc = attach_command(a); });

  DemoOptions demo_options;
  auto* demo_command = app.add_subcommand(
      "demo", "Watch a job get slow, be explained and be mended: live, or a recording of that");
  demo_command->add_option("--out", demo_options.out, "Folder of the evidence and the page")
      ->capture_default_str();
  demo_command->callback([&] { rc = demo(demo_options); });

  std::string what, list_format = "text";
  auto* list_command = app.add_subcommand("list", "Show what this build knows");
  list_command->add_option("WHAT", what, "collectors, importers, hypotheses, actions or metrics")
      ->required()
      ->check(CLI::IsMember({"collectors", "importers", "hypotheses", "actions", "metrics"}));
  list_command->add_option("--format", list_format, "Output format")
      ->check(CLI::IsMember({"text", "json"}));
  list_command->callback([&] { rc = list(what, list_format); });

  for (const std::string& file : config_files())
    if (auto status = apply_config(app, argc > 1 ? argv[1] : "", file); !status)
      return fail(status.error());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kAnalysed : kUsage;
  }
  return rc;
}

}  // namespace
}  // namespace firstwait

int main(int argc, char** argv) { return firstwait::run(argc, argv); }
