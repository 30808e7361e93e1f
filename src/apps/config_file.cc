#include "apps/config_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "collect/file.h"

namespace firstwait {
namespace {

Error wrong(std::string what, const std::string& path, const YAML::Mark& mark, std::string remedy) {
  return Error{std::move(what), fmt::format("{}:{}", path, std::max(mark.line, 0) + 1),
               std::move(remedy)};
}

// Options that a file may set: not what a call is about, and not help.
CLI::Option* settable(CLI::App& command, const std::string& name) {
  CLI::Option* option = command.get_option_no_throw("--" + name);
  return option == nullptr || option->get_required() || name == "help" ? nullptr : option;
}

Status apply_command(CLI::App& command, bool chosen, const YAML::Node& part,
                     const std::string& path) {
  for (const auto& entry : part) {
    const auto name = entry.first.as<std::string>("");
    CLI::Option* option = settable(command, name);
    if (option == nullptr)
      return wrong(
          fmt::format("{} has no option '{}' that a file may set", command.get_name(), name), path,
          entry.first.Mark(), fmt::format("`firstwait {} --help` shows them", command.get_name()));
    if (!entry.second.IsScalar())
      return wrong(fmt::format("{} takes one value", name), path, entry.second.Mark(),
                   "write `" + name + ": value`");
    if (!chosen) continue;
    try {
      option->run_callback_for_default()->default_val(entry.second.as<std::string>(""));
    } catch (const CLI::Error& e) {
      return wrong(e.what(), path, entry.second.Mark(), "correct the value");
    }
  }
  return Done{};
}

Status apply_all(CLI::App& app, const std::string& chosen, const YAML::Node& root,
                 const std::string& path) {
  if (root.IsNull()) return Done{};
  if (!root.IsMap())
    return wrong("no commands with their options", path, root.Mark(),
                 "write `diagnose:` and below it `  format: json`");
  for (const auto& entry : root) {
    const auto name = entry.first.as<std::string>("");
    const auto commands = app.get_subcommands([&](CLI::App* a) { return a->get_name() == name; });
    CLI::App* command = commands.empty() ? nullptr : commands.front();
    if (command == nullptr)
      return wrong("no command '" + name + "'", path, entry.first.Mark(),
                   "`firstwait --help` shows them");
    if (entry.second.IsNull()) continue;
    if (!entry.second.IsMap())
      return wrong(name + " takes options", path, entry.second.Mark(),
                   "write `" + name + ":` and below it `  format: json`");
    if (auto status = apply_command(*command, name == chosen, entry.second, path); !status)
      return status;
  }
  return Done{};
}

}  // namespace

std::vector<std::string> config_files() {
  std::vector<std::string> files = {"/etc/firstwait/firstwait.yaml"};
  const char* home = std::getenv("HOME");
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg != nullptr && *xdg == '/')
    files.push_back(std::string(xdg) + "/firstwait/firstwait.yaml");
  else if (home != nullptr && *home == '/')
    files.push_back(std::string(home) + "/.config/firstwait/firstwait.yaml");
  return files;
}

Status apply_config(CLI::App& app, const std::string& command, const std::string& path) {
  const auto text = read_whole(path, size_t{1} << 20);
  if (!text) return Done{};
  // yaml-cpp throws; nothing of it leaves this function.
  try {
    return apply_all(app, command, YAML::Load(*text), path);
  } catch (const YAML::Exception& e) {
    return wrong("no valid YAML: " + e.msg, path, e.mark, "correct the line");
  }
}

}  // namespace firstwait
