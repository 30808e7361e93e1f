// The answer of `firstwait what-if` as text and as JSON (firstwait.what_if/1).
#pragma once
#include <string>

#include "model/prediction.h"

namespace firstwait {

std::string text_prediction(const Prediction& prediction);
std::string json_prediction(const Prediction& prediction);

}  // namespace firstwait
