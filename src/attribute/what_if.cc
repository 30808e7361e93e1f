#include "attribute/what_if.h"

namespace firstwait {

std::optional<WhatIf> replay_ops(const Evidence&) { return std::nullopt; }
StepTable op_steps(const Evidence&) { return {}; }

}  // namespace firstwait
