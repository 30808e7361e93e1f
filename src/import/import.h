// Turns what the user named (files, directories, bundles) into evidence.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "import/importer.h"
#include "model/evidence.h"

namespace firstwait {

struct ImportSummary {
  size_t files = 0;       // found, members of archives counted one by one
  size_t recognised = 0;  // an importer knew the content
  size_t read = 0;        // at least one row or document came out
};

// Reads every input into `out`. What cannot be read is counted in `out.health`; the rest is still
// read. An error only when an input does not exist or nothing at all could be recognised.
Result<ImportSummary> import_inputs(const std::vector<std::string>& paths,
                                    const ImportOptions& options, Evidence& out);

}  // namespace firstwait
