// align: puts the evidence on one timeline. Selects the job and the time window, sorts rows and
// series, drops exact duplicates (counted), and estimates each rank's clock offset from the ends of
// device-side all-reduces.
#pragma once
#include <optional>
#include <string>

#include "model/evidence.h"

namespace firstwait {

struct AlignOptions {
  std::string job;  // empty: the job with the most rows
  Ns since = kNoTime, until = kNoTime;
};

void align(Evidence& evidence, const AlignOptions& options);

}  // namespace firstwait
