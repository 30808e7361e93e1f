// The whole path: import, align, attribute, explain.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "align/align.h"
#include "base/result.h"
#include "import/import.h"
#include "model/evidence.h"
#include "model/verdict.h"

namespace firstwait {

struct AnalyseOptions {
  ImportOptions import;
  AlignOptions align;
  bool progress = false;  // tell on stderr what is read when it takes over a second
};

struct Analysis {
  std::unique_ptr<Evidence> evidence;  // the report and its attribution stay valid beside it
  Report report;
};

// An error when a path does not exist or nothing in the inputs could be read.
Result<Analysis> analyse(const std::vector<std::string>& paths, const AnalyseOptions& options);

}  // namespace firstwait
