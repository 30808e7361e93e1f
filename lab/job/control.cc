#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "params.h"

namespace lab {
namespace {

void set(Knobs& k, const std::string& name, double value) {
  const auto whole = static_cast<int64_t>(value);
  if (name == "compute_ms") k.compute_ms = value;
  if (name == "device_clock") k.device_clock = value;
  if (name == "device_reasons") k.device_reasons = whole;
  if (name == "transform_ms") k.transform_ms = value;
  if (name == "transform_threads") k.transform_threads = whole;
  if (name == "checkpoint_mb") k.checkpoint_mb = value;
  if (name == "checkpoint_every") k.checkpoint_every = whole;
  if (name == "evaluation_ms") k.evaluation_ms = value;
  if (name == "evaluation_every") k.evaluation_every = whole;
  if (name == "gc_ms") k.gc_ms = value;
  if (name == "gc_every") k.gc_every = whole;
  if (name == "log_lines") k.log_lines = whole;
  if (name == "gradient_mb") k.gradient_mb = value;
  if (name == "drop") k.drop = value != 0;
  if (name == "stop") k.stop = value != 0;
}

}  // namespace

const Knobs& Control::read() {
  struct stat s {};
  if (path_.empty() || ::stat(path_.c_str(), &s) != 0) return knobs_;
  const int64_t changed = int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
  if (changed == seen_) return knobs_;
  seen_ = changed;
  knobs_ = start_;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double value = 0;
    if (!(words >> name >> value)) continue;
    const size_t at = name.find('@');
    if (at != std::string::npos && name.substr(at + 1) != std::to_string(rank_)) continue;
    set(knobs_, name.substr(0, at), value);
  }
  return knobs_;
}

}  // namespace lab
