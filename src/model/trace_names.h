// What the names in profiler traces mean, in one place: the importer keeps rows by it, attribute
// reads phases from it.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/phase.h"

namespace firstwait {

enum class TraceName : uint8_t {
  plain,          // an operation of no special meaning: aten::conv2d
  step,           // ProfilerStep#12
  iteration,      // another framework's or the user's marker of one iteration
  loader_single,  // the training thread loads by itself
  loader_multi,   // the training thread takes a batch from workers
  loader,         // another loader's next(), kind not said
  optimizer,
  zero_grad,
  forward,
  backward,
  autograd,   // one node of the backward graph
  copy_call,  // cudaMemcpyAsync and its like
  sync_call,  // waits for the device
  item,       // reads a value back to the host
  checkpoint,
  evaluation,
  gc,
  logging,
  compile,
  host_collective,  // communication that runs on the host's threads (gloo, mpi)
};

// Meaning of a host-side name.
TraceName classify_trace_name(std::string_view name);

// The phase that a name alone decides; unexplained: none.
Phase phase_of(TraceName name);

// Whether a device kernel communicates, and in which operation, in PyTorch's words ("all_reduce");
// empty: it does not. "collective" when the name does not tell.
std::string_view collective_of_kernel(std::string_view name);

// The same for names of host records and arguments: "allreduce", "_allgather_base",
// "gloo:all_reduce".
std::string_view collective_of_text(std::string_view text);

enum class CopyKind : uint8_t { host_to_device, device_to_host, other };
struct DeviceCopy {
  CopyKind kind = CopyKind::other;
  bool pageable = false;
};
// "Memcpy HtoD (Pageable -> Device)"
DeviceCopy copy_of(std::string_view name);

// "ProfilerStep#12" -> 12, "train_step 7" -> 7; nothing without digits at the end.
std::optional<int32_t> step_number(std::string_view name);

}  // namespace firstwait
