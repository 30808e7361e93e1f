#include "apps/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "apps/commands.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;

// The program writes its bundle all the time: what is analysed is a copy of the last steps.
std::string analysed(const std::string& folder, const std::string& rows, const Sampler& sampler,
                     const std::string& bundle, bool colour) {
  std::error_code ignored;
  fs::create_directories(folder + "/node", ignored);
  constexpr Ns kRecent = Ns{300} * 1'000'000'000;
  if (!sampler.write_bundle(folder + "/node", sampler.now() - kRecent).ok()) return {};
  for (const char* name : {"job.yaml", "settings.jsonl"})
    fs::copy_file(fs::path(bundle) / name, fs::path(folder) / name,
                  fs::copy_options::overwrite_existing, ignored);
  const std::string steps = folder + "/steps.jsonl";
  std::FILE* file = std::fopen(steps.c_str(), "we");
  if (file == nullptr) return {};
  const bool written = std::fwrite(rows.data(), 1, rows.size(), file) == rows.size();
  if (std::fclose(file) != 0 || !written) return {};
  const auto analysis = analyse({folder}, {});
  return analysis ? text_live(analysis->report, text_options(colour, "", "")) : std::string();
}

}  // namespace

LiveView::LiveView(std::string folder, bool colour, bool in_place)
    : folder_(std::move(folder)), colour_(colour), in_place_(in_place) {}

LiveView::~LiveView() {
  if (next_.valid()) next_.wait();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void LiveView::show(const std::deque<std::string>& rows, const Sampler& sampler,
                    const std::string& bundle) {
  if (next_.valid()) {
    if (next_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    std::string text = next_.get();
    if (!text.empty()) {
      if (in_place_ && lines_ > 0) text.insert(0, fmt::format("\x1b[{}A\x1b[J", lines_));
      lines_ = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
      std::fwrite(text.data(), 1, text.size(), stderr);
    }
  }
  if (rows.empty()) return;
  std::string lines;
  for (const auto& row : rows) lines += row;
  next_ = std::async(std::launch::async, analysed, folder_, std::move(lines), std::cref(sampler),
                     bundle, colour_);
}

}  // namespace firstwait
