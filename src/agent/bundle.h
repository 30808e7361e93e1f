// An evidence bundle as one file (FORMATS section 1): a tar compressed with zstd.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace firstwait {

// Writes the plain files of a directory, not those below it.
Status write_fwb(const std::string& directory, const std::string& path);

// Replaces the file by FILE.zst.
Status compress_file(const std::string& path);

// Replaces names of hosts, users and paths by others, the same one by the same everywhere, so that
// what belongs together still does. Times, numbers and names of metrics stay.
class Redactor {
 public:
  Redactor(std::vector<std::string> hosts, std::vector<std::string> users);
  std::string operator()(const std::string& text);

 private:
  std::string path(std::string_view text);
  const std::string& name(const std::string& kind, const std::string& original);

  std::vector<std::pair<std::string, std::string>> words_;  // longest first: original, kind
  std::map<std::string, std::map<std::string, std::string>> names_;
};

}  // namespace firstwait
