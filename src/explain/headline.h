// The verdict sentence (UX section 3) and the word for how sure it is.
#pragma once
#include <string>

#include "model/verdict.h"

namespace firstwait {

// "very likely" from 0.9, "likely" from 0.7, "possible" from 0.5, else "undetermined".
std::string confidence_word(double confidence);

// The phase that grew most, or, without a past, the longest that is not computing; nullptr when
// none is a relevant part of the step or no phases are known.
const LedgerRow* waiting_phase(const Attribution& attribution);

// Fills headline and verdict_word from findings, attribution and health.
void headline(Report& report, double between_steps_s = 0);

}  // namespace firstwait
