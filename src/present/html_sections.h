// The cards of the report below its charts. Each is empty when it has nothing to show.
#pragma once
#include <string>

#include "model/verdict.h"

namespace firstwait {

std::string section_chain(const Report& report);
std::string section_also_seen(const Report& report);
std::string section_actions(const Report& report);
std::string section_evidence(const Report& report);
std::string section_findings(const Report& report);
std::string section_rivals(const Report& report);
std::string section_signals(const Report& report);
std::string section_next(const Report& report);
std::string section_input(const Report& report);

}  // namespace firstwait
