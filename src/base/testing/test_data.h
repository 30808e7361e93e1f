// For tests only: where the sources and the shared real files lie.
#pragma once
#include <optional>
#include <string>

namespace firstwait {

// The root of the source tree.
std::string source_dir();

// The path of a file under shared/data, when it is there: else the test skips, saying so.
// FIRSTWAIT_SHARED names the folder; without it, the one beside the source tree is taken.
std::optional<std::string> shared_data(const std::string& relative);

}  // namespace firstwait
