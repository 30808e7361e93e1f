// The sentences of a comparison that text and HTML share.
#pragma once
#include <string>
#include <vector>

#include "model/comparison.h"
#include "present/numbers.h"

namespace firstwait {

std::string side_text(const ComparedSide& side);  // "label · 6 steps · 1 rank · evidence: ops"
// The comparison's own headline, or one made from its numbers.
std::string comparison_headline(const Comparison& comparison);
// "Mean ratio 1.25×, median ratio 1.39×; 95 % interval of the mean 1.02–1.48×. Mann-Whitney U: p =
// 0.026."
std::string certainty_text(const Comparison& comparison);
std::vector<std::string> compared_outliers(const Comparison& comparison);
std::vector<std::string> compared_observations(const Comparison& comparison);
std::string setting_text(const ComparedSetting& setting);
std::string predicted_text(const PredictedGain& gain);
SecondsColumn compared_column(const Comparison& comparison);

}  // namespace firstwait
