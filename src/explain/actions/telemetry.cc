#include "explain/action_table.h"

namespace firstwait {
namespace {
constexpr std::string_view kRepair[] = {"telemetry.unreliable"};
constexpr ActionRow kRows[] = {{"telemetry.repair",
                                "Repair the sources named under input health, then diagnose again",
                                kRepair, GainModel::none, ""}};
}  // namespace
extern const ActionTable action_table_telemetry{"telemetry", kRows};
}  // namespace firstwait
