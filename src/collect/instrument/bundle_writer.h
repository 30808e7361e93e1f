// Writes the parts of an evidence bundle that instrumented programs tell (FORMATS section 1), as
// they become known.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/instrument/line_file.h"
#include "collect/instrument/steps.h"

namespace firstwait {

class BundleWriter {
 public:
  // What is beyond them makes room by dropping the oldest half.
  struct Limits {
    uint64_t span_bytes = uint64_t{256} << 20;
    uint64_t step_bytes = uint64_t{1} << 30;  // a million steps of two ranks
    uint64_t counter_bytes = uint64_t{64} << 20;
    uint64_t other_bytes = uint64_t{64} << 20;  // settings; events
  };
  struct Loss {
    std::string file;
    uint64_t not_written = 0;  // lines that the disk had no room for
    uint64_t dropped = 0;      // lines that made room for newer ones
  };

  static Result<BundleWriter> open(const std::string& directory, const std::string& job,
                                   Limits limits);

  // Returns the line that was written.
  std::string step(int32_t rank, const std::string& host, const InstrumentStep& step,
                   int64_t workers);
  void span(int32_t rank, int64_t step, const InstrumentSpan& span);
  void setting(const std::string& entity, const RingSetting& setting);
  void checkpoint(const InstrumentSpan& span, int32_t rank);
  // The value of a counter of the program, as a sample of firstwait_program_value{name}.
  void counter(int32_t rank, const std::string& host, std::string_view name, double value, Ns time);
  // job.yaml again, with all ranks known so far.
  void rank(int32_t rank, const std::string& host, int32_t local_rank, int32_t world_size);
  // Everything to the files. An error when something could not be written since the last flush.
  Status flush();

  // What is not in the files, of each that lacks something.
  std::vector<Loss> losses() const;

 private:
  struct Rank {
    std::string host;
    int32_t local_rank = -1;
  };
  BundleWriter(std::string directory, std::string job, const Limits& limits);
  bool write_job();

  std::string directory_, job_;
  LineFile steps_, spans_, settings_, events_, counters_;
  std::map<int32_t, Rank> ranks_;
  int32_t world_size_ = -1;
  bool job_changed_ = true;
};

}  // namespace firstwait
