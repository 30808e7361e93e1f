// What drivers call their counters of pauses and drops.
#pragma once
#include <cstdint>
#include <string_view>

namespace firstwait {

enum class EthtoolKind : uint8_t {
  none,
  pause_received,
  pause_sent,
  priority_pause_received,
  priority_pause_sent,
  received_drops,
  sent_drops,
  errors
};
struct EthtoolMeaning {
  EthtoolKind kind = EthtoolKind::none;
  std::string_view priority;  // "0" to "7"
  std::string_view counter;   // the driver's name, where several mean different things
};
EthtoolMeaning ethtool_meaning(std::string_view name);

}  // namespace firstwait
