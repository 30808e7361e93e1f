#include "apps/analyse.h"

#include <set>

#include "attribute/attribute.h"
#include "explain/explain.h"
#include "import/logs/user_pattern.h"

namespace firstwait {
namespace {

// What the user asked for must be possible: an answer to another question misleads.
Status check_options(const AnalyseOptions& options) {
  const AlignOptions& align = options.align;
  if (align.since != kNoTime && align.until != kNoTime && align.since > align.until)
    return Error{"the window is empty", "--since is after --until", "exchange the two times"};
  if (!options.import.log_pattern.empty())
    if (auto pattern = UserPattern::compile(options.import.log_pattern); !pattern)
      return Error{pattern.error().what, "--log-pattern", "correct the regular expression"};
  return Done{};
}

Status check_job(const Evidence& evidence, const std::string& wanted) {
  if (wanted.empty() || wanted == evidence.job.id) return Done{};
  std::set<std::string> named;
  if (!evidence.job.id.empty()) named.insert(evidence.job.id);
  for (const NameId job : evidence.steps.job)
    if (job != kNoName) named.insert(std::string(evidence.names[job]));
  for (const Entity& entity : evidence.entities)
    if (entity.id.starts_with("job/")) named.insert(entity.id.substr(4));
  if (named.contains(wanted)) return Done{};
  if (named.empty())
    return Error{"the input names no job", "--job " + wanted,
                 "leave --job away to analyse all of it"};
  constexpr size_t kShown = 5;
  std::string remedy = "the input holds";
  size_t shown = 0;
  for (const auto& name : named) {
    if (shown++ == kShown) break;
    remedy += (shown == 1 ? " " : ", ") + name;
  }
  if (named.size() > kShown) remedy += " and " + std::to_string(named.size() - kShown) + " more";
  return Error{"no such job", "--job " + wanted, remedy};
}

}  // namespace

Result<Analysis> analyse(const std::vector<std::string>& paths, const AnalyseOptions& options) {
  Analysis out;
  out.evidence = std::make_unique<Evidence>();
  if (auto possible = check_options(options); !possible) return possible.error();
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
  if (auto known = check_job(*out.evidence, options.align.job); !known) return known.error();
  align(*out.evidence, options.align);
  out.report = explain(*out.evidence, attribute(*out.evidence));
  return out;
}

}  // namespace firstwait
