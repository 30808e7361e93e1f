#include "base/testing/test_data.h"

#include <cstdlib>
#include <filesystem>

namespace firstwait {

std::string source_dir() { return FIRSTWAIT_SOURCE_DIR; }

std::optional<std::string> shared_data(const std::string& relative) {
  const char* root = std::getenv("FIRSTWAIT_SHARED");
  const std::string base = root != nullptr ? root : source_dir() + "/../shared";
  std::string path = base + "/data/" + relative;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return path;
}

}  // namespace firstwait
