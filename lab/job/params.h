// All that one training job of the lab is told: on its command line, and while it runs.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lab {

// What may change while the job runs: the knobs of its control file.
struct Knobs {
  double compute_ms = 60;      // of the emulated accelerator, per step at full clock
  double device_clock = 1;     // of its full clock
  int64_t device_reasons = 0;  // why it is lower, as NVML tells it
  double transform_ms = 6;     // of CPU, per batch
  double checkpoint_mb = 8;
  int64_t checkpoint_every = 0;
  double evaluation_ms = 0;
  int64_t evaluation_every = 0;
  double gc_ms = 0;  // of CPU on the training thread; the ranks take turns
  int64_t gc_every = 0;
  int64_t log_lines = 0;  // per step, each made durable
  int64_t transform_threads = 1;
  double gradient_mb = 2;
  bool drop = false;  // what was read is dropped from the page cache
  bool stop = false;
};

struct Params {
  // Which ranks this process starts, of how many.
  int rank = -1;  // -1: all of them
  int ranks = 2;
  std::vector<std::string> addresses;  // of all ranks; empty: loopback
  int port = 29500;
  // Loader.
  std::string data;
  std::string layout = "file";  // "file": one large file; "files": one for each record
  int64_t records = 512;
  int64_t record_bytes = 256 << 10;
  int batch = 4;
  int workers = 2;
  int prefetch = 2;
  bool direct = false;  // reads bypass the page cache
  bool mapped = false;  // the file is mapped, not read
  // Output.
  std::string checkpoints;
  std::string state;                // folder: process numbers
  std::string devices;              // folder: what the accelerators of this host show of themselves
  std::string control;              // file: "KNOB[@RANK] VALUE" lines
  std::vector<std::string> groups;  // control groups to enter, "%" stands for the rank
  int64_t steps = 1'000'000;
  Knobs start;
};

// Reads the control file again when it has changed. A file that is being written is read the next
// time: it is replaced, never edited.
class Control {
 public:
  Control(std::string path, int rank, const Knobs& start)
      : path_(std::move(path)), rank_(rank), knobs_(start), start_(start) {}
  const Knobs& read();

 private:
  std::string path_;
  int rank_;
  Knobs knobs_, start_;
  int64_t seen_ = -1;
};

}  // namespace lab
