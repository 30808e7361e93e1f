// The accelerators that a job of the lab emulates on this host, as the library with NVML's face
// shows them.
#pragma once
#include <optional>
#include <string_view>

namespace lab {

// How many there are in the folder that LAB_DEVICES names; nothing where it names none.
std::optional<unsigned> device_count();
// A value of one of them under the name that fake_nvml_set has for it; nothing: it has none, or no
// job has set it yet. "util" is the share since it was asked for last.
std::optional<long long> device_value(unsigned index, std::string_view key);

}  // namespace lab
