// What a fix would bring: share of time is not gain, and gains are never added up.
#pragma once
#include <vector>

#include "explain/action_table.h"
#include "explain/hypothesis.h"
#include "explain/ranking.h"

namespace firstwait {

// The step time that a cause's cost is a share of. Saves and evaluations are segments of their own,
// outside the ledger's steps: theirs is that of all steps, from where the cause began.
double step_with(const View& view, const Tested& tested);

// The actions that cure this cause, best predicted first, each with its gain or without one.
std::vector<Action> actions_for(const View& view, const Tested& tested);

}  // namespace firstwait
