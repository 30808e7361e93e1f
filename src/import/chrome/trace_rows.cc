#include "import/chrome/trace_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/saturate.h"
#include "base/text.h"
#include "import/chrome/json_text.h"

namespace firstwait {

const HealthCounter TraceHealth::truncated{
    "truncated_json", Severity::data_loss,
    "the trace ends early, or is broken or nested too deep somewhere; record it again. All whole "
    "events before that were read"};
const HealthCounter TraceHealth::invalid_event{
    "invalid_event", Severity::data_loss,
    "the file is damaged there; copy it again. Reading went on behind it"};
const HealthCounter TraceHealth::bad_time{
    "bad_time", Severity::data_loss,
    "events without a usable time were left out; record the trace again"};
const HealthCounter TraceHealth::unmatched{
    "unmatched_begin_end", Severity::info,
    "operations that were running when recording began or ended were left out"};
const HealthCounter TraceHealth::duplicate_rank{
    "duplicate_rank", Severity::error,
    "two traces claim one rank; this one was given a free number. Give each rank's file its own, "
    "or only one of them"};
const HealthCounter TraceHealth::no_rank{
    "rank_assumed", Severity::info,
    "neither distributedInfo nor the file's name tells the rank; name the file rank-N.json"};
const HealthCounter TraceHealth::no_events{
    "no_events", Severity::error, "the trace holds no operations; record it while training runs"};

namespace {

constexpr size_t kNameCache = 8192;  // a power of two
constexpr size_t kMaxOpen = 1 << 20;
constexpr int64_t kEpochFrom =
    100'000'000'000'000'000;  // times below 1e8 s do not count from the epoch

uint64_t load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

size_t cache_slot(std::string_view s) {
  uint64_t h = s.size() * 0x9e3779b97f4a7c15u;
  if (s.size() >= 8) {
    h ^= load64(s.data()) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 29)) + load64(s.data() + s.size() - 8) * 0xc4ceb9fe1a85ec53u;
    h = (h ^ (h >> 31)) + load64(s.data() + (s.size() - 8) / 2) * 0x9e3779b97f4a7c15u;
  } else {
    for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  h ^= h >> 32;
  return static_cast<size_t>(h * 0x9e3779b97f4a7c15u >> 40) & (kNameCache - 1);
}

// The digits behind `word` (and an optional separator) in a file's name: "rank-34.pt.trace.json"
// -> 34.
std::optional<int32_t> number_behind(std::string_view name, std::string_view word) {
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    size_t i = at + word.size();
    if (i < name.size() && (name[i] == '-' || name[i] == '_' || name[i] == '.' || name[i] == '='))
      ++i;
    size_t end = i;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    if (end > i && end - i <= 7) return static_cast<int32_t>(*parse_int(name.substr(i, end - i)));
  }
  return std::nullopt;
}

std::optional<int32_t> rank_of_path(std::string_view path) {
  const std::string name = to_lower(path.substr(path.rfind('/') + 1));
  if (const auto rank = number_behind(name, "rank")) return rank;
  return number_behind(name, "worker");
}

int64_t bytes_of_type(std::string_view dtype) {
  const std::string t = to_lower(dtype);
  struct Width {
    std::string_view word;
    int64_t bytes;
  };
  static constexpr Width kWidths[] = {
      {"bfloat16", 2}, {"float8", 1}, {"float16", 2}, {"half", 2},  {"double", 8}, {"float64", 8},
      {"float", 4},    {"long", 8},   {"int64", 8},   {"int32", 4}, {"short", 2},  {"int16", 2},
      {"char", 1},     {"byte", 1},   {"int8", 1},    {"uint8", 1}, {"bool", 1},   {"int", 4}};
  for (const auto& w : kWidths)
    if (t.find(w.word) != std::string::npos) return w.bytes;
  return -1;
}

// Work that covers what lies inside it, so that plain operations inside add nothing.
bool covers(TraceName name) { return name != TraceName::step && name != TraceName::iteration; }

}  // namespace

TraceRows::TraceRows(ImportContext context)
    : context_(std::move(context)),
      first_span_(context_.out.spans.size()),
      first_collective_(context_.out.collectives.size()),
      name_cache_(kNameCache, 0) {
  names_.push_back({});
  name_index_.emplace(kNoName, 0);
}

TraceRows::Category TraceRows::category_of(std::string_view cat) {
  switch (cat.size()) {
    case 0:
      return Category::unknown;
    case 6:
      if (cat == "cpu_op") return Category::host;
      if (cat == "kernel" || cat == "Kernel") return Category::kernel;
      if (cat == "Memcpy" || cat == "Memset") return Category::copy;
      break;
    case 5:
      if (cat == "Trace" || cat == "async") return Category::none;
      break;
    case 7:
      if (cat == "Runtime") return Category::runtime;
      break;
    case 8:
      if (cat == "Operator") return Category::annotation;
      if (cat == "overhead") return Category::none;
      break;
    case 9:
      if (cat == "cuda_sync") return Category::none;
      break;
    case 10:
      if (cat == "gpu_memcpy" || cat == "gpu_memset") return Category::copy;
      break;
    case 15:
      if (cat == "user_annotation") return Category::annotation;
      if (cat == "python_function") return Category::python;
      break;
    default:
      break;
  }
  if (cat.ends_with("_runtime") || cat.ends_with("_driver")) return Category::runtime;
  // The device's copies of the host's annotations would count everything twice.
  if (cat.starts_with("gpu_") || cat == "cuda_profiler_range" || cat == "cpu_instant_event")
    return Category::none;
  if (cat == "collective_comm") return Category::kernel;
  if (cat == "mtia_ccp_events" || cat.starts_with("mtia_") || cat.starts_with("hpu_"))
    return Category::accelerator;
  return Category::unknown;
}

TraceRows::Category TraceRows::category(const TraceEvent& event) {
  const Category known = category_of(event.cat);
  if (known != Category::unknown) return known;
  if (event.pid == "CUDA functions") return Category::kernel;
  if (device_process_.empty() || !device_process_.contains(hash32(event.pid)))
    return Category::host;
  return Category::kernel;
}

const TraceRows::Name& TraceRows::name_of(std::string_view raw) {
  uint32_t& cached = name_cache_[cache_slot(raw)];
  if (context_.out.names[names_[cached].id] == raw) return names_[cached];
  std::string unescaped;
  std::string_view text = raw;
  if (raw.find('\\') != std::string_view::npos) text = unescaped = json_unescape(raw);
  const NameId id = context_.out.names.intern(text);
  const auto [found, added] = name_index_.emplace(id, static_cast<uint32_t>(names_.size()));
  if (added)
    names_.push_back({id, classify_trace_name(text), collective_of_kernel(text), copy_of(text)});
  cached = found->second;
  return names_[cached];
}

TraceRows::Thread& TraceRows::thread_of(std::string_view pid, std::string_view tid) {
  const uint32_t id = hash32(pid, tid);
  if (last_thread_ != nullptr && last_thread_->id == id) return *last_thread_;
  Thread& thread = threads_[id];
  thread.id = id;
  thread.is_process = pid == tid;
  last_thread_ = &thread;
  return thread;
}

void TraceRows::event(const TraceEvent& event) {
  if (event.ph == 'M') return metadata(event);
  if (event.ph == 'B') return begin(event);
  if (event.ph == 'E') return end(event);
  const Category c = category(event);
  if (c == Category::none) return;
  bool nanoseconds = false;
  const auto start = trace_time_ns(event.ts, nanoseconds);
  const auto duration =
      event.dur.empty() ? std::optional<int64_t>(0) : trace_duration_ns(event.dur, nanoseconds);
  if (!start || !duration || *duration < 0) {
    ++bad_times_;
    return;
  }
  span(event, c, *start, *duration);
}

void TraceRows::span(const TraceEvent& event, Category category, Ns start, Ns duration) {
  switch (category) {
    case Category::none:
      return;
    case Category::kernel:
    case Category::copy:
    case Category::accelerator:
      return device_span(event, category, start, duration);
    case Category::host:
    case Category::annotation:
    case Category::python:
    case Category::runtime:
    case Category::unknown:
      return host_span(event, category, start, duration);
  }
}

void TraceRows::host_span(const TraceEvent& event, Category category, Ns start, Ns duration) {
  const Name& name = name_of(event.name);
  if (event.name == "record_param_comms") {
    const CollectiveArgs args = collective_args(event);
    if (args.external_id >= 0)
      host_calls_[args.external_id] = {start, context_.out.names.intern(args.group), args.bytes,
                                       args.seq};
  }
  // Python's frames enclose everything; only those that name a phase say more than the operations
  // in them.
  if (category == Category::python && name.host == TraceName::plain) return;
  Thread& thread = thread_of(event.pid, event.tid);
  ++thread.ops;
  const bool inside = start >= thread.outer_start && start + duration <= thread.outer_end;
  if (name.host == TraceName::plain) {
    if (inside) return;
  } else if (inside && name.host == thread.outer_class &&
             (name.host == TraceName::autograd || name.host == TraceName::forward)) {
    return;
  }
  if (covers(name.host)) {
    thread.outer_start = start;
    thread.outer_end = start + duration;
    thread.outer_class = name.host;
  }
  switch (name.host) {
    case TraceName::step:
      ++thread.steps;
      break;
    case TraceName::optimizer:
      ++thread.optimizers;
      break;
    case TraceName::loader_single:
    case TraceName::loader_multi:
    case TraceName::loader:
      ++thread.loaders;
      break;
    case TraceName::host_collective:
      collective(name, event, start, duration, false);
      break;
    default:
      break;
  }
  context_.out.spans.append(
      0, name.host == TraceName::step ? step_number(event.name).value_or(-1) : -1, start, duration,
      name.id, phase_of(name.host), Lane::host_thread, thread.id);
}

void TraceRows::device_span(const TraceEvent& event, Category category, Ns start, Ns duration) {
  const Name& name = name_of(event.name);
  Lane lane = Lane::gpu_compute;
  int64_t bytes = -1;
  if (category == Category::copy ||
      (category == Category::kernel && event.name.starts_with("Memcpy"))) {
    lane = Lane::gpu_copy;
    if (name.copy.kind != CopyKind::other)
      bytes = parse_int(json_field(event.args, "bytes")).value_or(-1);
  } else if (category == Category::accelerator) {
    if (event.name.starts_with("event_")) return;  // records and waits: no work
    if (event.name.starts_with("dma") || event.name.find("memcpy") != std::string_view::npos)
      lane = Lane::gpu_copy;
  } else if (!name.collective.empty()) {
    lane = Lane::gpu_collective;
  }
  ++device_rows_[hash32(event.pid)];
  Phase phase = Phase::unexplained;
  if (lane == Lane::gpu_collective) {
    const std::string_view op = collective(name, event, start, duration, true);
    phase = op == "send" || op == "recv" ? Phase::p2p : Phase::collective;
  } else if (lane == Lane::gpu_copy && name.copy.kind == CopyKind::host_to_device) {
    phase = Phase::h2d;
  }
  context_.out.spans.append(0, -1, start, duration, name.id, phase, lane,
                            hash32(event.pid, event.tid), bytes);
}

TraceRows::CollectiveArgs TraceRows::collective_args(const TraceEvent& event) const {
  CollectiveArgs a;
  std::string_view ranks;
  json_fields(event.args, [&](std::string_view key, std::string_view value) {
    const auto number = [&] { return parse_int(value).value_or(-1); };
    if (key == "Collective name") a.op = collective_of_text(value);
    if (key == "In msg nelems" || key == "Out msg nelems")
      a.elements = std::max(a.elements, number());
    if (key == "dtype") a.element_bytes = bytes_of_type(value);
    if (key == "Process Group Name") a.group = value;
    if (key == "Process Group Ranks") ranks = value;
    if (key == "Seq" || key == "seq") a.seq = number();
    if (key == "External id" || key == "external id") a.external_id = number();
    return true;
  });
  if (a.group.empty()) a.group = ranks;
  int64_t bytes = -1;
  if (a.elements >= 0 && a.element_bytes > 0 &&
      !__builtin_mul_overflow(a.elements, a.element_bytes, &bytes))
    a.bytes = bytes;
  return a;
}

std::string_view TraceRows::collective(const Name& name, const TraceEvent& event, Ns start,
                                       Ns duration, bool on_device) {
  const CollectiveArgs args = collective_args(event);
  std::string_view op = args.op;
  if (op.empty()) op = on_device ? name.collective : collective_of_text(event.name);
  if (op.empty()) op = "collective";
  auto& names = context_.out.names;
  context_.out.collectives.append(0, -1, names.intern(args.group), names.intern(op), args.seq,
                                  start, duration, args.bytes, on_device);
  collective_external_.push_back(args.external_id);
  return op;
}

void TraceRows::begin(const TraceEvent& event) {
  bool nanoseconds = false;
  const auto start = trace_time_ns(event.ts, nanoseconds);
  if (!start) {
    ++bad_times_;
    return;
  }
  if (open_count_ >= kMaxOpen) {
    ++unmatched_;
    return;
  }
  ++open_count_;
  open_[hash32(event.pid, event.tid)].push_back({std::string(event.name), category(event), *start});
}

void TraceRows::end(const TraceEvent& event) {
  bool nanoseconds = false;
  const auto stop = trace_time_ns(event.ts, nanoseconds);
  const auto found = open_.find(hash32(event.pid, event.tid));
  if (found == open_.end() || found->second.empty() || !stop) {
    ++unmatched_;
    return;
  }
  const Open open = std::move(found->second.back());
  found->second.pop_back();
  --open_count_;
  if (*stop < open.start || *stop - open.start > kLongestTime) {
    ++bad_times_;
    return;
  }
  TraceEvent whole = event;
  whole.name = open.name;
  span(whole, open.category, open.start, *stop - open.start);
}

void TraceRows::metadata(const TraceEvent& event) {
  if (event.name != "process_name") return;
  const std::string_view name = json_field(event.args, "name");
  // As TensorFlow and JAX call them.
  if (name.starts_with("/device:GPU") || name.starts_with("/device:TPU"))
    device_process_[hash32(event.pid)] = true;
}

void TraceRows::top_level(std::string_view key, std::string_view value) {
  if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
  if (key == "baseTimeNanoseconds") {
    const int64_t base = parse_int(value).value_or(0);
    if (base >= 0 && base <= kLatestTime) base_ns_ = base;
  } else if (key == "distributedInfo") {
    const auto number = [&](std::string_view field) {
      const int64_t n = parse_int(json_field(value, field)).value_or(-1);
      return n >= 0 && n < 100'000'000 ? static_cast<int32_t>(n) : -1;
    };
    rank_ = number("rank");
    world_size_ = number("world_size");
    backend_ = json_unescape(json_field(value, "backend"));
    nccl_version_ = json_unescape(json_field(value, "nccl_version"));
  } else if (key == "host_name" || key == "hostname") {
    host_ = json_unescape(value);
  } else if (key == "deviceProperties") {
    size_t at = 1;
    std::string_view device;
    while (at < value.size() && json_detail::take_value(value, at, device)) {
      const auto id = parse_int(json_field(device, "id"));
      if (id) devices_.emplace_back(*id, json_unescape(json_field(device, "name")));
      while (at < value.size() && (value[at] == ',' || value[at] == ' ' || value[at] == '\n')) ++at;
      if (at < value.size() && value[at] == ']') break;
    }
  } else if (key == "cuda_runtime_version") {
    const int64_t v = parse_int(value).value_or(0);
    if (v > 1000 && v < 100'000) cuda_version_ = fmt::format("{}.{}", v / 1000, v % 1000 / 10);
  }
}

void TraceRows::invalid(uint64_t offset) {
  if (invalid_++ == 0) first_invalid_ = offset;
}

void TraceRows::finish() {
  for (const auto& [thread, stack] : open_) unmatched_ += stack.size();
  if (base_ns_ != 0) shift_times();
  if (invalid_ > 0)
    context_.count(TraceHealth::invalid_event, invalid_, fmt::format("byte {}", first_invalid_));
  context_.count(TraceHealth::bad_time, bad_times_);
  context_.count(TraceHealth::unmatched, unmatched_);
  if (rows() == 0) return context_.count(TraceHealth::no_events);
  set_lanes();
  set_collective_steps();
  const int32_t rank = choose_rank();
  auto& out = context_.out;
  std::fill(out.spans.rank.begin() + static_cast<ptrdiff_t>(first_span_), out.spans.rank.end(),
            rank);
  std::fill(out.collectives.rank.begin() + static_cast<ptrdiff_t>(first_collective_),
            out.collectives.rank.end(), rank);
  describe_rank(rank);
}

// Times are as recorded until all is read: the base often stands at the end of the file.
void TraceRows::shift_times() {
  const auto shift = [&](std::vector<Ns>& times, size_t first) {
    for (size_t i = first; i < times.size(); ++i)
      times[i] = std::min(sat_add(times[i], base_ns_), kLatestTime);
  };
  shift(context_.out.spans.start, first_span_);
  shift(context_.out.collectives.start, first_collective_);
  for (auto& [id, call] : host_calls_)
    call.start = std::min(sat_add(call.start, base_ns_), kLatestTime);
}

// The training thread is the one with the steps; without any, the one that loads and optimises;
// else the process's first thread, or the busiest.
void TraceRows::set_lanes() {
  const Thread* best = nullptr;
  const auto better = [](const Thread& a, const Thread& b) {
    const auto key = [](const Thread& t) {
      return std::make_tuple(t.steps, t.optimizers + t.loaders, t.is_process ? 1 : 0, t.ops, t.id);
    };
    return key(a) > key(b);
  };
  for (const auto& [id, thread] : threads_)
    if (best == nullptr || better(thread, *best)) best = &thread;
  if (best == nullptr) return;
  auto& spans = context_.out.spans;
  for (size_t i = first_span_; i < spans.size(); ++i)
    if (spans.thread[i] == best->id && spans.lane[i] == Lane::host_thread)
      spans.lane[i] = Lane::main_thread;
}

// A collective belongs to the step in which the host started it; without that record, to the one in
// which it began.
void TraceRows::set_collective_steps() {
  auto& out = context_.out;
  if (out.collectives.size() == first_collective_) return;
  struct Step {
    Ns start, end;
    int32_t number;
  };
  std::vector<Step> steps;
  for (size_t i = first_span_; i < out.spans.size(); ++i)
    if (out.spans.step[i] >= 0 && out.spans.lane[i] == Lane::main_thread)
      steps.push_back(
          {out.spans.start[i], out.spans.start[i] + out.spans.duration[i], out.spans.step[i]});
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.start < b.start; });
  for (size_t i = first_collective_; i < out.collectives.size(); ++i) {
    Ns at = out.collectives.start[i];
    const auto call = host_calls_.find(collective_external_[i - first_collective_]);
    if (call != host_calls_.end()) {
      at = call->second.start;
      if (out.collectives.bytes[i] < 0) out.collectives.bytes[i] = call->second.bytes;
      if (out.collectives.seq[i] < 0) out.collectives.seq[i] = call->second.seq;
      if (out.collectives.group[i] == kNoName) out.collectives.group[i] = call->second.group;
    }
    auto step = std::upper_bound(steps.begin(), steps.end(), at,
                                 [](Ns t, const Step& s) { return t < s.start; });
    if (step != steps.begin() && at < (--step)->end) out.collectives.step[i] = step->number;
  }
}

int32_t TraceRows::choose_rank() {
  std::set<int32_t>& taken = context_.out.trace_ranks;
  int32_t rank = rank_;
  if (rank < 0) rank = rank_of_path(context_.path).value_or(-1);
  const bool assumed = rank < 0;
  if (!assumed && taken.insert(rank).second) return rank;
  if (!assumed) context_.count(TraceHealth::duplicate_rank, 1, fmt::format("rank {}", rank));
  rank = 0;
  for (const int32_t other : taken) {
    if (other != rank) break;
    ++rank;
  }
  taken.insert(rank);
  if (assumed) context_.count(TraceHealth::no_rank, 1, fmt::format("taken as rank {}", rank));
  return rank;
}

void TraceRows::describe_rank(int32_t rank) {
  auto& out = context_.out;
  RankInfo& info = out.rank(rank);
  info.source = context_.path;
  if (!host_.empty()) info.host = host_;
  const auto& starts = out.spans.start;
  info.relative_time = *std::min_element(starts.begin() + static_cast<ptrdiff_t>(first_span_),
                                         starts.end()) < kEpochFrom;
  if (world_size_ > 0 && out.job.world_size < 0) out.job.world_size = world_size_;
  if (out.job.framework.empty()) out.job.framework = "pytorch";
  const std::string entity = fmt::format("rank/{}", rank);
  const auto set = [&](std::string_view key, const std::string& value) {
    if (!value.empty())
      out.settings.push_back({entity, std::string(key), value, context_.path, kNoTime});
  };
  // The device with the most kernels is the rank's own.
  uint64_t most = 0;
  int64_t device = -1;
  std::string model;
  for (const auto& [id, name] : devices_) {
    const auto rows = device_rows_.find(hash32(std::to_string(id)));
    if (rows == device_rows_.end() || rows->second <= most) continue;
    most = rows->second;
    device = id;
    model = name;
  }
  if (device >= 0 && !info.host.empty()) info.gpu = fmt::format("{}:{}", info.host, device);
  set("gpu.model", model);
  set("nccl.version", nccl_version_);
  set("cuda.version", cuda_version_);
  if (world_size_ > 0) set("world_size", std::to_string(world_size_));
  context_.note(fmt::format("rank {}, {} operations", rank, rows()));
}

}  // namespace firstwait
