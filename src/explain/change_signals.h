// Something changed at the onset: events and settings before and after.
#pragma once
#include <initializer_list>
#include <span>
#include <string_view>

#include "explain/weigh.h"

namespace firstwait {

inline constexpr Phase kChangePhases[] = {Phase::input_wait, Phase::h2d,       Phase::forward,
                                          Phase::backward,   Phase::optimizer, Phase::collective,
                                          Phase::p2p,        Phase::host,      Phase::unexplained};
inline constexpr Threshold kChangeThresholds[] = {
    {"distance from the onset", 60, "s",
     "the usual scrape interval; wider when the onset itself is known less well"}};

// What a change may be and what it can explain.
struct ChangeKind {
  std::initializer_list<std::string_view> events;    // event kinds
  std::initializer_list<std::string_view> settings;  // key prefixes
  std::initializer_list<Phase>
      direct;             // phases that such a change acts on: growth there is more than chance
  std::string_view noun;  // "the placement"
};
Verdict test_change(const View& view, const ChangeKind& kind);

}  // namespace firstwait
