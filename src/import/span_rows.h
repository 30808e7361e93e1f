// Rows of spans, from whatever file they come: JSON lines and Parquet give the same evidence.
#pragma once
#include <string_view>
#include <vector>

#include "import/importer.h"

namespace firstwait {

// One operation. -1 and empty: not told. The texts need to live during SpanRows::add only.
struct SpanRow {
  int32_t rank = -1, step = -1, dp = -1, stage = -1;
  int32_t model_chunk = -1, global_chunk = -1, microbatch = -1;
  int64_t seq = -1, bytes = -1;
  Ns start = kNoTime, duration = kNoDuration;
  std::string_view phase, op, group, thread;
  bool on_device = true;
};

class SpanRows {
 public:
  explicit SpanRows(const ImportContext& context) : context_(context) {}
  // False: the row names a phase that does not exist, and was kept as unexplained.
  bool add(const SpanRow& row);
  // Pipeline operations become records for the replay. Call once, after the last row.
  void finish();

 private:
  const ImportContext& context_;
  struct PipelineOp {
    SpanRow row;  // its texts are gone
    NameId op = kNoName;
  };
  std::vector<PipelineOp> ops_;
};

}  // namespace firstwait
