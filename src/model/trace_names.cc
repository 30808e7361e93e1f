#include "model/trace_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace firstwait {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
bool any_of(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return has(text, p); });
}
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// True when `word` stands in `text` with no letter on either side.
bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end])))
      return true;
  }
  return false;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// CUDA, HIP, MTIA and Level Zero calls.
TraceName runtime_call(std::string_view name) {
  if (any_of(name, {"ynchronize", "waitOnEvent"}) && !has(name, "WaitEvent"))
    return TraceName::sync_call;
  if (any_of(name, {"cudaMemcpy", "hipMemcpy", "cuMemcpy", "memcpyHtoD", "memcpyDtoH",
                    "zeCommandListAppendMemoryCopy"}))
    return TraceName::copy_call;
  return TraceName::plain;
}

bool is_autograd(std::string_view name) {
  if (name.starts_with("autograd::engine::evaluate_function") ||
      name.starts_with("torch::autograd::"))
    return true;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward") && !has(name, ":");
}

// Python frames: "torch/optim/sgd.py(76): step", "nn.Module: ResNet_0".
std::optional<TraceName> python_frame(std::string_view name) {
  if (name.starts_with("nn.Module: ")) return TraceName::forward;
  const size_t mark = name.rfind("): ");
  if (mark == std::string_view::npos || !has(name, ".py(")) return std::nullopt;
  const std::string_view function = name.substr(mark + 3);
  if (has(name, "utils/data/dataloader.py") && function == "__next__") return TraceName::loader;
  if (any_of(name, {"torch/_tensor.py", "torch/autograd/__init__.py"}) && function == "backward")
    return TraceName::backward;
  if (has(name, "torch/optim/") && function == "step") return TraceName::optimizer;
  if (has(name, "torch/serialization.py") && function == "save") return TraceName::checkpoint;
  if (has(name, "torch/cuda/__init__.py") && function == "synchronize") return TraceName::sync_call;
  return TraceName::plain;
}

// Annotations of people and frameworks, in lower case: "## forward ##",
// "[pl][profile]run_training_batch".
TraceName annotation(std::string_view s) {
  if (any_of(s, {"zero_grad", "optimizer_zero_grad"})) return TraceName::zero_grad;
  if (any_of(s, {"dataloader", "data_loader", "train_dataloader_next", "_next_train_batch",
                 "get_next_batch", "load_batch", "wait_for_batch", "webdataset", "next_batch",
                 "get_batch", "fetch_batch", "data_loading", "dataloading", "batch_generator"}) ||
      has_word(s, "dali"))
    return TraceName::loader;
  if (any_of(s, {"checkpoint"}) && any_of(s, {"save", "write", "checkpointing ", "on_save"}))
    return TraceName::checkpoint;
  if (any_of(s, {"save_checkpoint", "torch.save", "save_state"})) return TraceName::checkpoint;
  if (any_of(s, {"evaluat", "validation"}) || has_word(s, "eval") || has_word(s, "validate"))
    return TraceName::evaluation;
  if (has_word(s, "gc") || any_of(s, {"gc.collect", "garbage collect", "python gc"}))
    return TraceName::gc;
  if (any_of(s, {"torchdynamo compil", "dynamo_timed", "compile_fx", "inductor_compile",
                 "torch-compile", "xlacompile", "triton_compile", "_compile.compile_inner",
                 "compiling"}) ||
      has_word(s, "compile"))
    return TraceName::compile;
  if (any_of(s, {"logging", "log_metrics", "metrics:publish", "tensorboard", "wandb",
                 "summarywriter"}))
    return TraceName::logging;
  if (has_word(s, "run_training_batch") || has_word(s, "train_step") ||
      has_word(s, "training_step") || has_word(s, "train_batch") ||
      has_word(s, "train_iteration") || has_word(s, "iteration") || has_word(s, "train_iter"))
    return TraceName::iteration;
  if (any_of(s, {"optimizer_step", "optimizer.step", "optimizerstep"}) || has_word(s, "optimizer"))
    return TraceName::optimizer;
  if (has_word(s, "backward") || has_word(s, "backward_pass")) return TraceName::backward;
  if (has_word(s, "forward") || has_word(s, "forward_pass")) return TraceName::forward;
  if (has_word(s, "step") && !any_of(s, {"scheduler", "scaler", "profil"}))
    return TraceName::iteration;
  return TraceName::plain;
}

}  // namespace

TraceName classify_trace_name(std::string_view name) {
  if (name.starts_with("aten::")) {
    return name == "aten::item" ? TraceName::item : TraceName::plain;
  }
  if (name.starts_with("ProfilerStep")) return TraceName::step;
  if (name.starts_with("Optimizer.step#")) return TraceName::optimizer;
  if (name.starts_with("Optimizer.zero_grad#")) return TraceName::zero_grad;
  if (name.starts_with("enumerate(DataLoader)#")) {
    if (has(name, "_SingleProcess")) return TraceName::loader_single;
    return has(name, "_MultiProcessing") ? TraceName::loader_multi : TraceName::loader;
  }
  if (is_autograd(name)) return TraceName::autograd;
  if (name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("ucc:"))
    return TraceName::host_collective;
  if (name.starts_with("nccl:") || name.starts_with("c10d::")) return TraceName::plain;
  if (name.starts_with("cuda") || name.starts_with("hip") || name.starts_with("cu") ||
      name.starts_with("ze") || has(name, "ynchronize") || has(name, "memcpy")) {
    const TraceName call = runtime_call(name);
    if (call != TraceName::plain) return call;
  }
  if (const auto frame = python_frame(name)) return *frame;
  if (name.starts_with("<built-in")) return TraceName::plain;
  if (has(name, "::")) {
    // C++ operations; only the loaders' own say anything.
    return name.starts_with("Iterator::") ? TraceName::loader : TraceName::plain;
  }
  if (name.starts_with("DistributedDataParallel.forward") ||
      name.starts_with("FullyShardedDataParallel.forward"))
    return TraceName::forward;
  // "## forward:over_arch ##" is a part of forward: the word before the colon decides.
  return annotation(lower(name));
}

Phase phase_of(TraceName name) {
  switch (name) {
    case TraceName::loader_single:
    case TraceName::loader_multi:
    case TraceName::loader:
      return Phase::input_wait;
    case TraceName::optimizer:
    case TraceName::zero_grad:
      return Phase::optimizer;
    case TraceName::forward:
      return Phase::forward;
    case TraceName::backward:
    case TraceName::autograd:
      return Phase::backward;
    case TraceName::checkpoint:
      return Phase::checkpoint;
    case TraceName::evaluation:
      return Phase::evaluation;
    case TraceName::gc:
      return Phase::gc;
    case TraceName::logging:
      return Phase::logging;
    case TraceName::compile:
      return Phase::compile;
    case TraceName::host_collective:
      return Phase::collective;
    case TraceName::plain:
    case TraceName::step:
    case TraceName::iteration:
    case TraceName::copy_call:
    case TraceName::sync_call:
    case TraceName::item:
      return Phase::unexplained;
  }
  return Phase::unexplained;
}

std::string_view collective_of_text(std::string_view text) {
  std::string s;
  for (const char c : lower(text))
    if (c != '_' && c != '-' && c != ' ') s += c;
  struct Word {
    std::string_view part, op;
  };
  static constexpr std::array<Word, 12> kWords = {{{"allreduce", "all_reduce"},
                                                   {"reducescatter", "reduce_scatter"},
                                                   {"allgather", "all_gather"},
                                                   {"alltoall", "all_to_all"},
                                                   {"broadcast", "broadcast"},
                                                   {"sendrecv", "send_recv"},
                                                   {"barrier", "barrier"},
                                                   {"gather", "gather"},
                                                   {"scatter", "scatter"},
                                                   {"reduce", "reduce"},
                                                   {"send", "send"},
                                                   {"recv", "recv"}}};
  for (const auto& w : kWords)
    if (has(s, w.part)) return w.op;
  return {};
}

std::string_view collective_of_kernel(std::string_view name) {
  if (!any_of(name, {"nccl", "rccl", "oneccl", "oneCCL", "hccl", "mscclKernel", "nvshmem",
                     "cross_device_reduce"}))
    return {};
  if (has(name, "cross_device_reduce")) return "all_reduce";
  // The operation stands before the arguments; "Reduce" may also be the reduction's own name behind
  // it.
  const std::string_view op = collective_of_text(name.substr(0, name.find('(')));
  return op.empty() ? "collective" : op;
}

DeviceCopy copy_of(std::string_view name) {
  DeviceCopy copy;
  if (any_of(name, {"HtoD", "HostToDevice", "Host -> Device", "H2D", "M2D"}))
    copy.kind = CopyKind::host_to_device;
  if (any_of(name, {"DtoH", "DeviceToHost", "Device -> Host", "D2H", "D2M"}))
    copy.kind = CopyKind::device_to_host;
  copy.pageable = has(name, "Pageable");
  return copy;
}

std::optional<int32_t> step_number(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  int32_t value = 0;
  const auto [end, error] = std::from_chars(name.data() + begin, name.data() + name.size(), value);
  if (begin == name.size() || error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace firstwait
