// What the hypotheses of pipelines share: when a replay may be believed, and what it says.
#pragma once
#include <string>

#include "explain/hypothesis.h"

namespace firstwait {

// From "Understanding Stragglers in Large Model Training Using What-if Analysis".
inline constexpr Threshold kStraggling{
    "straggler-free slowdown", 1.1, "ratio",
    "arXiv 2505.05713: a job is straggling when its slowdown is at least 1.1"};
inline constexpr Threshold kMostOfIt{
    "share of the slowdown", 0.5, "ratio",
    "arXiv 2505.05713 attributes a job to its workers or last stage from M_W, M_S of 0.5 on"};
inline constexpr Threshold kReplayError{
    "replay error", 0.05, "ratio",
    "arXiv 2505.05713: jobs whose replay is off by more than 5 % are left out"};

// The replay, when there is one that may be believed.
const WhatIf* believable_replay(const View& view);
std::string worker_entity(int32_t dp_rank, int32_t stage);  // "worker/dp0-stage3"
// Sets the effect to `share` of the time above ideal, between the two ways of measuring it.
void set_replay_effect(Verdict& verdict, const WhatIf& w, double removal, double addback);

}  // namespace firstwait
