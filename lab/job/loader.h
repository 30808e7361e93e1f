// The loader: worker processes that read, unpack and transform batches ahead of the training, or
// the training thread itself where there are none. Reports as the hooks into PyTorch's DataLoader
// do.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "params.h"
#include "records.h"

namespace lab {

// Makes one batch; in a worker or in the training thread.
class BatchMaker {
 public:
  BatchMaker(const Params& p, int rank);
  // Reads, unpacks and transforms; `knobs` says how much of it.
  bool make(int64_t number, const Knobs& knobs, std::vector<uint8_t>& out);

 private:
  void transform(std::vector<uint8_t>& batch, double cpu_ms, int64_t threads);
  const Params& p_;
  int rank_;
  RecordReader reader_;
};

class Loader {
 public:
  // Starts the workers.
  Loader(const Params& p, int rank);
  // The next batch, in order. False when a worker died or a record could not be read.
  bool next(std::vector<uint8_t>& out);
  std::vector<pid_t> workers() const { return pids_; }
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

 private:
  struct Slot;
  struct Shared;
  [[noreturn]] void work(int worker);
  Slot* slot(int worker, int64_t batch) const;
  int queued() const;
  bool take(std::vector<uint8_t>& out);

  const Params& p_;
  int rank_;
  Shared* shared_ = nullptr;
  size_t bytes_ = 0, slot_bytes_ = 0;
  std::vector<pid_t> pids_;
  int64_t taken_ = 0;
  std::unique_ptr<BatchMaker> own_;
  Control control_;
};

}  // namespace lab
