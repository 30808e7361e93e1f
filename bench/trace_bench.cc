// Import and attribution of profiler traces, in MB/s of uncompressed JSON, beside inflating the
// same file alone and simdjson walking all its values. `trace_bench FILE...` compares; without
// files it makes traces of four sizes up to 1 GB (ordinary, and with repeated correlation ids) and
// shows time, peak memory and growth. Times are medians.
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "attribute/attribute.h"
#include "attribute/trace_steps.h"
#include "import/byte_source.h"
#include "import/import.h"

namespace firstwait {
namespace {

constexpr int kRuns = 7;

double median_seconds(int runs, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<size_t>(runs / 2)];
}

uint64_t walk(simdjson::ondemand::value value) {
  using simdjson::ondemand::json_type;
  uint64_t n = 0;
  switch (value.type()) {
    case json_type::object:
      for (auto field : value.get_object()) {
        n += std::string_view(field.unescaped_key()).size();
        n += walk(field.value());
      }
      break;
    case json_type::array:
      for (auto element : value.get_array()) n += walk(element.value());
      break;
    case json_type::string:
      n += std::string_view(value.get_string()).size();
      break;
    case json_type::number:
      n += simdjson::ondemand::number(value.get_number()).is_double() ? 1 : 2;
      break;
    case json_type::boolean:
      n += bool(value.get_bool()) ? 1 : 0;
      break;
    case json_type::null:
      break;
  }
  return n;
}

size_t whole(const std::string& path) {
  Evidence evidence;
  const auto result = import_inputs({path}, {}, evidence);
  if (!result) fmt::print(stderr, "{}: {}\n", path, result.error().what);
  return trace_steps(evidence).steps.size();
}

void compare(const std::string& path, int runs) {
  std::string text;
  if (!read_bytes(path, [&](std::string_view chunk) {
         text.append(chunk);
         return true;
       }).ok())
    return fmt::print(stderr, "cannot read {}\n", path);
  const double mb = static_cast<double>(text.size()) / 1e6;
  size_t steps = 0;
  const double ours = median_seconds(runs, [&] { steps = whole(path); });
  const double inflate = median_seconds(runs, [&] {
    const auto count = read_bytes(path, [](std::string_view) { return true; });
    if (!count) fmt::print(stderr, "cannot read {}\n", path);
  });
  double json = 0;
  uint64_t values = 0;
  try {
    const simdjson::padded_string padded(text);
    json = median_seconds(runs, [&] {
      simdjson::ondemand::parser parser;
      auto document = parser.iterate(padded);
      values += walk(document.get_value());
    });
  } catch (const std::exception& e) {
    fmt::print(stderr, "simdjson: {}\n", e.what());
  }
  fmt::print(
      "{:<52} {:7.1f} MB {:3} steps  import+steps {:7.0f} MB/s  inflate {:7.0f}  simdjson {:7.0f}  "
      "ratio to the "
      "slower {:.2f}\n",
      path.size() > 52 ? path.substr(path.size() - 52) : path, mb, steps, mb / ours, mb / inflate,
      mb / json, std::max(inflate, json) / ours);
}

// --- generated traces
// -------------------------------------------------------------------------------------------

// Writes gzip without holding more than a block.
class GzipFile {
 public:
  explicit GzipFile(const std::string& path)
      : file_(path, std::ios::binary), out_(1 << 20), level_(ISAL_DEF_LVL1_DEFAULT) {
    isal_deflate_init(&stream_);
    stream_.gzip_flag = IGZIP_GZIP;
    stream_.level = 1;
    stream_.level_buf = level_.data();
    stream_.level_buf_size = static_cast<uint32_t>(level_.size());
  }
  void write(std::string& text, bool last) {
    bytes_ += text.size();
    stream_.next_in = reinterpret_cast<uint8_t*>(text.data());
    stream_.avail_in = static_cast<uint32_t>(text.size());
    stream_.end_of_stream = last ? 1 : 0;
    do {
      stream_.next_out = out_.data();
      stream_.avail_out = static_cast<uint32_t>(out_.size());
      isal_deflate(&stream_);
      file_.write(reinterpret_cast<const char*>(out_.data()),
                  static_cast<std::streamsize>(out_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
    text.clear();
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::ofstream file_;
  std::vector<uint8_t> out_, level_;
  isal_zstream stream_{};
  uint64_t bytes_ = 0;
};

// Operations of one step, as Kineto writes them: a batch, forward operations with launches and
// kernels, backward on the autograd thread, the optimizer.
void write_step(std::string& out, int step, int64_t& t, int64_t& id, bool repeat_ids) {
  const auto event = [&](std::string_view cat, std::string_view name, int64_t pid, int64_t tid,
                         int64_t ts, int64_t dur, std::string_view args) {
    fmt::format_to(std::back_inserter(out),
                   "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, "
                   "\"tid\": {},\n    \"ts\": "
                   "{}.{:03}, \"dur\": {},\n    \"args\": {{\n      {}\n    }}\n  }},\n",
                   cat, name, pid, tid, ts, ts % 1000, dur, args);
  };
  const int64_t begin = t;
  event("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 100,
        100, t, 900, fmt::format("\"External id\": {}", ++id));
  t += 1000;
  for (int op = 0; op < 400; ++op) {
    const int64_t correlation = repeat_ids ? id % 1000 : id;
    const int64_t thread = op < 200 ? 100 : 101;
    event("cpu_op",
          op < 200 ? "aten::conv2d" : "autograd::engine::evaluate_function: ConvolutionBackward0",
          100, thread, t, 60,
          fmt::format("\"External id\": {}, \"Record function id\": 0, \"Input Dims\": [[32, 64, "
                      "56, 56], [64, 64, 3, 3], "
                      "[], [], [], []], \"Input type\": [\"float\", \"float\", \"\", "
                      "\"ScalarList\", \"ScalarList\"], "
                      "\"Call stack\": \"train.py({}): <module>;torch/nn/modules/conv.py(447): "
                      "forward\", \"Ev Idx\": {}",
                      ++id, op, id));
    event("cuda_runtime", "cudaLaunchKernel", 100, thread, t + 10, 8,
          fmt::format("\"External id\": {}, \"cbid\": 211, \"correlation\": {}", id, correlation));
    event("kernel",
          fmt::format("void "
                      "cutlass::Kernel<sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_"
                      "nchw_tilesize128x{}"
                      "x16>(Params, {{lambda(int)#{}}})",
                      op % 8 * 32, op % 5),
          0, 7, t + 30, 55,
          fmt::format("\"External id\": {}, \"queued\": 0, \"device\": 0, \"context\": 1, "
                      "\"stream\": 7, \"correlation\": "
                      "{}, \"registers per thread\": 128, \"shared memory\": 49152, \"blocks per "
                      "SM\": 4.5, \"warps per "
                      "SM\": 36.0, \"grid\": [486, 1, 1], \"block\": [256, 1, 1], \"est. achieved "
                      "occupancy %\": 38",
                      id, correlation));
    fmt::format_to(
        std::back_inserter(out),
        "  {{\n    \"ph\": \"s\", \"id\": {0}, \"pid\": 100, \"tid\": {1}, \"ts\": {2}.000,\n    "
        "\"cat\": "
        "\"ac2g\", \"name\": \"ac2g\"\n  }},\n  {{\n    \"ph\": \"f\", \"id\": {0}, \"pid\": 0, "
        "\"tid\": 7, "
        "\"ts\": {3}.000,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }},\n",
        correlation, thread, t + 10, t + 30);
    t += 70;
  }
  event("user_annotation", "Optimizer.step#SGD.step", 100, 100, t, 500,
        fmt::format("\"External id\": {}", ++id));
  t += 600;
  event("user_annotation", fmt::format("ProfilerStep#{}", step), 100, 100, begin, t - begin,
        fmt::format("\"External id\": {}", ++id));
}

uint64_t generate(const std::string& path, uint64_t size, bool repeat_ids) {
  GzipFile file(path);
  std::string out =
      "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\"id\": 0, \"name\": \"NVIDIA "
      "A100\"}\n  ],\n  "
      "\"traceEvents\": [\n";
  int64_t t = 1'700'000'000'000'000, id = 0;
  for (int step = 1; file.bytes() + out.size() < size; ++step) {
    write_step(out, step, t, id, repeat_ids);
    if (out.size() > (1 << 20)) file.write(out, false);
  }
  out +=
      "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", "
      "\"tid\": \"\", \"ts\": "
      "1\n  }\n  ],\n  \"distributedInfo\": {\"rank\": 0, \"world_size\": 1}\n}\n";
  file.write(out, true);
  return file.bytes();
}

struct Cost {
  double seconds = 0, mebibytes = 0;
};

// A process of its own, so that its peak memory is the work's alone.
Cost in_child(const std::string& path) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "trace_bench", "--once", path.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (status != 0) fmt::print(stderr, "failed on {}\n", path);
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          static_cast<double>(usage.ru_maxrss) / 1024};
}

void generated() {
  const std::string folder = std::filesystem::temp_directory_path().string();
  const std::string path = fmt::format("{}/firstwait_trace_bench_{}.json.gz", folder, getpid());
  for (const bool repeat : {false, true})
    for (const uint64_t megabytes : {125u, 250u, 500u, 1000u}) {
      if (repeat && megabytes < 1000) continue;
      const uint64_t bytes = generate(path, megabytes * 1'000'000, repeat);
      std::vector<Cost> costs;
      for (int i = 0; i < 3; ++i) costs.push_back(in_child(path));
      std::sort(costs.begin(), costs.end(),
                [](const Cost& a, const Cost& b) { return a.seconds < b.seconds; });
      const double mb = static_cast<double>(bytes) / 1e6;
      fmt::print("{:7.1f} MB{}: whole process {:.2f} s ({:.0f} MB/s), peak {:.0f} MiB\n", mb,
                 repeat ? ", correlation ids repeated" : "", costs[1].seconds,
                 mb / costs[1].seconds, costs[1].mebibytes);
      if (megabytes == 125) compare(path, 3);
    }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace firstwait

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--once")
    return firstwait::whole(argv[2]) > 0 ? 0 : 1;
  for (int i = 1; i < argc; ++i) firstwait::compare(argv[i], firstwait::kRuns);
  if (argc == 1) firstwait::generated();
}
