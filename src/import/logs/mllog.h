// MLPerf training logs: ":::MLLOG {json}" lines.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "import/logs/step_assembler.h"

namespace firstwait {

// One row per block of training between two evaluations (or per epoch): its number as the step, its
// time as the duration. Where blocks differ in length and the batch size is known, the duration is
// the mean step of the block.
class MllogReader {
 public:
  MllogReader(const ImportContext& context, int32_t rank)
      : context_(context), default_rank_(rank) {}
  // `json` is what stands behind ":::MLLOG". False when it is no such record.
  bool line(std::string_view json, int32_t rank);
  void finish(bool rows);  // rows: whether blocks become step rows
  size_t blocks() const { return blocks_.size(); }

 private:
  struct Block {
    int32_t rank = 0, epoch = -1;
    Ns start = 0, end = 0;
    double samples = kNaN;
  };
  struct RankState {
    Ns begin = kNoTime, evaluation = kNoTime;
    double begin_at = kNaN, at = kNaN;  // samples (or epochs) seen
    bool explicit_blocks = false;
    Ns run = kNoTime;
  };
  void end_block(RankState& state, int32_t rank, Ns time, bool last);
  void add_event(std::string_view kind, Ns start, Ns end, std::string status = {});
  void statistic(std::string_view key, Ns time, double value);

  const ImportContext& context_;
  int32_t default_rank_;
  std::map<int32_t, RankState> states_;
  std::vector<Block> blocks_;
  std::map<std::string, size_t, std::less<>> series_;
  double batch_ = kNaN, train_samples_ = kNaN;
  bool position_in_samples_ = false;
};

}  // namespace firstwait
