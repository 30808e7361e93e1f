// Writes the parts of an evidence bundle that instrumented programs tell (FORMATS section 1), as
// they become known.
#pragma once
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/instrument/steps.h"

namespace firstwait {

class BundleWriter {
 public:
  // Spans beyond `span_bytes` make room by dropping the oldest half.
  struct Limits {
    uint64_t span_bytes = uint64_t{256} << 20;
  };

  static Result<BundleWriter> open(const std::string& directory, const std::string& job,
                                   Limits limits);

  // Returns the line that was written.
  std::string step(int32_t rank, const std::string& host, const InstrumentStep& step,
                   int64_t workers);
  void span(int32_t rank, int64_t step, const InstrumentSpan& span);
  void setting(const std::string& entity, const RingSetting& setting);
  void checkpoint(const InstrumentSpan& span, int32_t rank);
  // job.yaml again, with all ranks known so far.
  void rank(int32_t rank, const std::string& host, int32_t local_rank, int32_t world_size);
  // Everything to the files. An error when something could not be written since the last flush.
  Status flush();

  uint64_t dropped_spans() const { return dropped_spans_; }

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  struct Rank {
    std::string host;
    int32_t local_rank = -1;
  };
  void append(File& file, const char* name, const std::string& text);
  void write_job();
  void rotate_spans();

  std::string directory_, job_;
  Limits limits_;
  File steps_, spans_, settings_, events_;
  std::map<int32_t, Rank> ranks_;
  int32_t world_size_ = -1;
  bool job_changed_ = true;
  uint64_t span_bytes_ = 0, spans_written_ = 0, spans_before_ = 0, dropped_spans_ = 0;
  std::string failed_;  // what could not be written
};

}  // namespace firstwait
