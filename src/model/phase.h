// What a rank's main thread does in a step, and what loader workers do beside it.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace firstwait {

using Ns = int64_t;                       // nanoseconds: since the Unix epoch for times
inline constexpr Ns kNoTime = INT64_MIN;  // a time that was not recorded
inline constexpr Ns kNoDuration = -1;     // a duration that was not recorded

enum class Phase : uint8_t {
  input_wait,
  h2d,
  forward,
  backward,
  optimizer,
  collective,
  p2p,
  checkpoint,
  evaluation,
  gc,
  logging,
  compile,
  host,
  unexplained
};
inline constexpr size_t kPhases = 14;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {
    "input_wait", "h2d",        "forward", "backward", "optimizer", "collective", "p2p",
    "checkpoint", "evaluation", "gc",      "logging",  "compile",   "host",       "unexplained"};
constexpr size_t index(Phase p) { return static_cast<size_t>(p); }
constexpr std::string_view name(Phase p) { return kPhaseNames[index(p)]; }
constexpr std::optional<Phase> phase_from_name(std::string_view text) {
  for (size_t i = 0; i < kPhases; ++i)
    if (kPhaseNames[i] == text) return static_cast<Phase>(i);
  return std::nullopt;
}
// Forward, backward and optimizer compute; all others wait, move data or do other work.
constexpr bool is_compute(Phase p) {
  return p == Phase::forward || p == Phase::backward || p == Phase::optimizer;
}

enum class LoaderWork : uint8_t { fetch, decompress, decode, transform, tokenize, collate };
inline constexpr size_t kLoaderWorks = 6;
inline constexpr std::array<std::string_view, kLoaderWorks> kLoaderWorkNames = {
    "fetch", "decompress", "decode", "transform", "tokenize", "collate"};
constexpr size_t index(LoaderWork w) { return static_cast<size_t>(w); }

}  // namespace firstwait
