#include "apps/analyse.h"

#include "attribute/attribute.h"
#include "explain/explain.h"

namespace firstwait {

Result<Analysis> analyse(const std::vector<std::string>& paths, const AnalyseOptions& options) {
  Analysis out;
  out.evidence = std::make_unique<Evidence>();
  auto summary = import_inputs(paths, options.import, *out.evidence);
  if (!summary) return summary.error();
  if (summary->read == 0) {
    Error error{"nothing readable", paths.empty() ? "" : paths.front(),
                "`firstwait list importers` shows what can be read"};
    for (const auto& entry : out.evidence->health.entries()) {
      error.what = "nothing readable: " + std::string(entry.counter->name);
      error.where = entry.source;
      error.remedy = entry.counter->remedy;
      break;
    }
    return error;
  }
  align(*out.evidence, options.align);
  out.report = explain(*out.evidence, attribute(*out.evidence));
  return out;
}

}  // namespace firstwait
