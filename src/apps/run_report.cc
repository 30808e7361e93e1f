#include "apps/run_report.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <filesystem>

#include "apps/commands.h"
#include "present/utf8.h"

namespace firstwait {

namespace fs = std::filesystem;

void tell(const std::string& text) {
  std::fprintf(stderr, "firstwait: %s\n", clean_text(text).c_str());
}

std::string bundle_folder(const std::string& name) {
  const time_t now = ::time(nullptr);
  tm local{};
  ::localtime_r(&now, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &local);
  std::string safe;
  for (const char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ? c : '_';
  const std::string folder = fmt::format("firstwait-{}-{}", safe, time);
  std::string unique = folder;
  for (int i = 2; fs::exists(unique); ++i) unique = fmt::format("{}-{}", folder, i);
  return unique;
}

void report_bundle(const std::string& bundle, const std::string& format, const std::string& file) {
  const auto analysis = analyse({bundle}, {});
  if (!analysis) {
    (void)fail(analysis.error());
    return;
  }
  const bool terminal = file.empty() && ::isatty(STDERR_FILENO) != 0;
  const std::string text = formatted(
      analysis->report, format, text_options(terminal, "firstwait diagnose " + bundle, bundle));
  if (!file.empty()) {
    (void)deliver(text, {format, file});
  } else {
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  tell("the evidence is in " + bundle);
}

}  // namespace firstwait
