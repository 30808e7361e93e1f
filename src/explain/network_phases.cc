#include "explain/network_phases.h"

#include "explain/placing.h"
#include "explain/storage_signals.h"

namespace firstwait {

std::vector<Phase> network_phases(const View& view) {
  std::vector<Phase> out;
  if (job_hosts(view).size() != 1) out = {Phase::collective, Phase::p2p};
  if (data_is_remote(view).value_or(true))
    out.insert(out.end(), {Phase::input_wait, Phase::checkpoint});
  return out;
}

bool gate_network(Weighing& w, const View& view) {
  const auto phases = network_phases(view);
  if (!phases.empty()) {
    w.gate(stake_or_unexplained(view, phases));
    return true;
  }
  w.contradicts(kVeryStrong, "all ranks are on one host and the data set on its own disk",
                fact("file system of the data set", "dataset.fstype", job_hosts(view).front(), kNaN,
                     "", false));
  return false;
}

}  // namespace firstwait
