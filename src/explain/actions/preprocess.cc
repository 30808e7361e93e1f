#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kPreprocessOffline[] = {"input.cpu_saturated",
                                                   "input.loading_in_main_thread"};
constexpr std::string_view kPreprocessSimplify[] = {"input.cpu_saturated",
                                                    "input.loader_underprovisioned"};
constexpr std::string_view kPreprocessOnGpu[] = {"input.cpu_saturated"};
constexpr ActionRow kRows[] = {
    {"preprocess.offline", "Do the constant part of preprocessing once, before training",
     kPreprocessOffline, GainModel::remove_phase,
     "Random augmentation must stay in the loop; the prepared set takes more space"},
    {"preprocess.simplify", "Use cheaper decoders and transforms", kPreprocessSimplify,
     GainModel::remove_phase, "Results may differ slightly: compare accuracy"},
    {"preprocess.on_gpu", "Decode and augment on the GPU (DALI, tensor transforms)",
     kPreprocessOnGpu, GainModel::remove_phase,
     "Takes GPU time and memory; many augmentation libraries run on the CPU and do not help; "
     "compare accuracy"},
};
}  // namespace
extern const ActionTable action_table_preprocess{"preprocess", kRows};
}  // namespace firstwait
