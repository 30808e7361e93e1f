#include "model/tables.h"

namespace firstwait {
namespace {
template <typename T>
void extend(std::vector<T>& column, size_t rows, T absent) {
  if (!column.empty()) column.resize(rows, absent);
}
}  // namespace

size_t StepTable::append(NameId row_job, int32_t row_rank, int32_t row_step, Ns row_start,
                         Ns row_duration) {
  job.push_back(row_job);
  rank.push_back(row_rank);
  step.push_back(row_step);
  start.push_back(row_start);
  duration.push_back(row_duration);
  kind.push_back(StepKind::train);
  epoch.push_back(-1);
  for (auto& column : phases) extend(column, size(), kNoDuration);
  for (auto& column : loader) extend(column, size(), kNoDuration);
  for (auto* column : {&loader_workers, &loader_queued, &samples, &tokens, &bytes, &loss})
    extend(*column, size(), kNaN);
  return size() - 1;
}

}  // namespace firstwait
