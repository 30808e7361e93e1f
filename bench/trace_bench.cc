// Profiler traces: import and attribution in MB/s of uncompressed JSON, beside inflating the same
// file alone and simdjson walking all its values in the same run; `firstwait diagnose` as a whole
// process on made-up traces of five sizes up to 1 GB (the first as large as a published one), and
// on one whose correlation ids repeat. `trace_bench FILE...` takes existing files instead;
// `trace_bench --short` only shows that it runs. Times are medians.
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <simdjson.h>

#include <cstdio>
#include <fstream>

#include "attribute/trace_steps.h"
#include "bench/measure.h"
#include "import/byte_source.h"
#include "import/import.h"

namespace firstwait {
namespace {

using bench::median;

double median_seconds(int runs, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    times.push_back(bench::seconds_since(begin));
  }
  return median(std::move(times));
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

// Import and attribution in this process; 0 steps: it failed.
size_t import_and_attribute(const std::string& path) {
  Evidence evidence;
  const auto result = import_inputs({path}, {}, evidence);
  if (!result) fmt::print(stderr, "{}: {}\n", path, result.error().what);
  return trace_steps(evidence).steps.size();
}

bool compare(const std::string& path, int runs) {
  std::string text;
  const auto all = read_bytes(path, [&](std::string_view chunk) {
    text.append(chunk);
    return true;
  });
  if (!all || !all->complete) {
    fmt::print(stderr, "cannot read {}\n", path);
    return false;
  }
  size_t steps = 0;
  const double ours = median_seconds(runs, [&] { steps = import_and_attribute(path); });
  const double inflate =
      median_seconds(runs, [&] { (void)read_bytes(path, [](std::string_view) { return true; }); });
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
    return false;
  }
  const double mb = static_cast<double>(text.size()) / 1e6;
  fmt::print(
      "    {:.1f} MB, {} steps: import and attribution {:.0f} MB/s; inflating alone {:.0f}, "
      "simdjson {:.0f}; ratio to inflating {:.2f}, to simdjson {:.2f}, to the slower {:.2f}\n",
      mb, steps, mb / ours, mb / inflate, mb / json, inflate / ours, json / ours,
      std::max(inflate, json) / ours);
  return steps > 0 && values > 0;
}

bool whole_process(const std::string& what, const std::string& path, double mb, int runs) {
  const bench::ProcessCost cost = bench::diagnose(runs, path);
  fmt::print("{}: diagnose {:.3f} s (CPU {:.3f} s), {:.0f} MB/s, peak {:.0f} MiB\n", what,
             cost.wall_s, cost.cpu_s, mb / cost.wall_s, cost.peak_mib);
  std::fflush(stdout);
  return cost.ok;
}

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

bool generated(const std::vector<uint64_t>& megabytes, int runs) {
  const bench::Folder folder;
  const std::string path = folder.file("rank-0.json.gz");
  bool ok = true;
  for (const bool repeat : {false, true})
    for (const uint64_t size : megabytes) {
      if (repeat && size < megabytes.back()) continue;
      const double mb = static_cast<double>(generate(path, size * 1'000'000, repeat)) / 1e6;
      const std::string what =
          fmt::format("{:6.1f} MB{}", mb, repeat ? ", correlation ids repeated" : "");
      ok = whole_process(what, path, mb, runs) && ok;
      // simdjson takes the whole text in memory.
      if (size <= 250 && !repeat) ok = bench::in_child([&] { return compare(path, runs); }) && ok;
    }
  return ok;
}

bool existing(const std::vector<std::string>& paths) {
  constexpr int kRuns = 15;
  bool ok = true;
  for (const auto& path : paths) {
    const auto bytes = read_bytes(path, [](std::string_view) { return true; });
    const double mb = bytes ? static_cast<double>(bytes->bytes) / 1e6 : 0;
    ok = whole_process(std::filesystem::path(path).filename().string(), path, mb, kRuns) && ok;
    ok = bench::in_child([&] { return compare(path, kRuns); }) && ok;
  }
  return ok;
}

}  // namespace
}  // namespace firstwait

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  if (given.empty()) return firstwait::generated({35, 125, 250, 500, 1000}, 5) ? 0 : 1;
  if (given.front() == "--short") return firstwait::generated({2}, 1) ? 0 : 1;
  return firstwait::existing(given) ? 0 : 1;
}
