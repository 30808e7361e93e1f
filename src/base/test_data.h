// For tests only: where the shared real files lie, when they are there at all.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace firstwait {

// The path of a file under shared/data, or nothing: then the test skips, saying so.
inline std::optional<std::string> shared_data(const std::string& relative) {
  const char* root = std::getenv("FIRSTWAIT_SHARED");
#ifdef FIRSTWAIT_SOURCE_DIR
  const std::string base = root != nullptr ? root : FIRSTWAIT_SOURCE_DIR "/../shared";
#else
  const std::string base = root != nullptr ? root : "../shared";
#endif
  const std::string path = base + "/data/" + relative;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return path;
}

}  // namespace firstwait
