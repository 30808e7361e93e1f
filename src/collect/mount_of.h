// The mount that a path lies on.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace firstwait {

struct Mount {
  std::string point, type, source;  // "/data", "nfs4", "nfs01:/export"
};
// `mountinfo`: the text of /proc/PID/mountinfo; `path`: absolute, without links. Of mounts on one
// point the last counts. Nothing when no mount holds the path.
std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view path);

}  // namespace firstwait
