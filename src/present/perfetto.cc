// Trace Event JSON, streamed: one process for the job and one for each rank, a counter track for
// each series.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "present/json_writer.h"
#include "present/present.h"

namespace firstwait {
namespace {

// Track numbers within a rank's process; spans of the trace get their own behind these.
enum Track : uint32_t { kSteps = 1, kPhasesLaid = 2, kOps = 3, kFirstSpan = 10 };
constexpr int64_t kJobProcess = 1, kFirstRank = 2;

// Writes one event after the other and keeps only what names of tracks need.
class TraceWriter {
 public:
  explicit TraceWriter(std::FILE* out) : out_(out) {
    put("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  }

  void metadata(std::string_view kind, int64_t process, uint32_t track, std::string_view value) {
    begin("M", process, track, kind);
    buffer_ += ",\"args\":{\"name\":";
    append_json_string(buffer_, value);
    buffer_ += "}}";
    flush_if_large();
  }
  void sort_index(int64_t process, int64_t index) {
    begin("M", process, 0, "process_sort_index");
    buffer_ += fmt::format(",\"args\":{{\"sort_index\":{}}}}}", index);
  }
  // `args`: the members of an object, or empty.
  void slice(int64_t process, uint32_t track, std::string_view name, std::string_view category,
             uint64_t start, Ns duration, std::string_view args = {}) {
    begin("X", process, track, name);
    buffer_ += fmt::format(",\"cat\":\"{}\",\"ts\":", category);
    micros(start);
    buffer_ += ",\"dur\":";
    micros(duration > 0 ? static_cast<uint64_t>(duration) : 0);
    if (!args.empty()) buffer_.append(",\"args\":{").append(args).append("}");
    buffer_ += '}';
    flush_if_large();
  }
  void instant(int64_t process, std::string_view name, uint64_t at, std::string_view args) {
    begin("i", process, 0, name);
    buffer_ += ",\"s\":\"g\",\"ts\":";
    micros(at);
    buffer_.append(",\"args\":{").append(args).append("}}");
    flush_if_large();
  }
  void counter(int64_t process, std::string_view name, uint64_t at, double value) {
    begin("C", process, 0, name);
    buffer_ += ",\"ts\":";
    micros(at);
    buffer_ += fmt::format(",\"args\":{{\"value\":{}}}}}", value);
    flush_if_large();
  }
  void end(std::string_view origin) {
    buffer_ += "\n],\"otherData\":{\"tool\":\"firstwait\",\"time_origin\":";
    append_json_string(buffer_, origin);
    buffer_ += "}}\n";
    put(buffer_);
    buffer_.clear();
  }

 private:
  void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), out_); }
  void flush_if_large() {
    if (buffer_.size() < 1 << 16) return;
    put(buffer_);
    buffer_.clear();
  }
  void begin(std::string_view type, int64_t process, uint32_t track, std::string_view name) {
    if (!first_) buffer_ += ",\n";
    first_ = false;
    buffer_ += fmt::format("{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"name\":", type, process, track);
    append_json_string(buffer_, name);
  }
  // Microseconds with three decimals, exact.
  void micros(uint64_t ns) { buffer_ += fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  std::FILE* out_;
  std::string buffer_;
  bool first_ = true;
};

class Exporter {
 public:
  Exporter(const Evidence& evidence, const Attribution& attribution, std::FILE* out)
      : e_(evidence), a_(attribution), w_(out) {}

  void run() {
    find_origin();
    w_.metadata("process_name", kJobProcess, 0, e_.job.id.empty() ? "job" : "job " + e_.job.id);
    w_.sort_index(kJobProcess, -1);
    job_steps();
    rank_steps();
    spans();
    collectives();
    ops();
    series();
    events();
    w_.end(origin_ == kNoTime ? "0" : decimal_seconds(origin_));
  }

 private:
  void take_origin(Ns time) {
    if (time != kNoTime && (origin_ == kNoTime || time < origin_)) origin_ = time;
  }
  void find_origin() {
    for (const Ns t : e_.spans.start) take_origin(t);
    for (const Ns t : e_.steps.start) take_origin(t);
    for (const Ns t : a_.steps.start) take_origin(t);
    for (const Ns t : e_.collectives.start) take_origin(t);
    for (const auto& s : e_.series)
      for (const Ns t : s.time) take_origin(t);
    for (const auto& event : e_.events) take_origin(event.start);
  }
  // From the origin; the difference of any two times fits 64 bits without a sign.
  uint64_t since_origin(Ns time) const {
    return static_cast<uint64_t>(time) - static_cast<uint64_t>(origin_ == kNoTime ? 0 : origin_);
  }

  int64_t process_of(int32_t rank) {
    const auto [found, fresh] = processes_.emplace(rank, next_process_);
    if (!fresh) return found->second;
    ++next_process_;
    const auto info = e_.ranks.find(rank);
    std::string name = fmt::format("rank {}", rank);
    if (info != e_.ranks.end() && !info->second.host.empty()) name += " on " + info->second.host;
    w_.metadata("process_name", found->second, 0, name);
    w_.sort_index(found->second, rank);
    return found->second;
  }
  void name_track(int64_t process, uint32_t track, std::string_view name) {
    if (named_.insert({process, track}).second) w_.metadata("thread_name", process, track, name);
  }

  // Phases whose order is not known, one after the other from the start of their step.
  template <typename PhaseOf>
  void lay_phases(int64_t process, uint64_t start, const PhaseOf& phase_of) {
    uint64_t at = start;
    for (size_t p = 0; p < kPhases; ++p) {
      const Ns duration = phase_of(static_cast<Phase>(p));
      if (duration <= 0) continue;
      name_track(process, kPhasesLaid, "phases (durations only; order not recorded)");
      w_.slice(process, kPhasesLaid, kPhaseNames[p], "phase", at, duration,
               "\"laid_in_order\":true");
      at += static_cast<uint64_t>(duration);
    }
  }

  void job_steps() {
    const JobSteps& s = a_.steps;
    uint64_t next = 0;
    for (size_t i = 0; i < s.size() && i < s.time.size(); ++i) {
      const bool timed = i < s.start.size() && s.start[i] != kNoTime;
      const uint64_t at = timed ? since_origin(s.start[i]) : next;
      name_track(kJobProcess, kSteps, "steps (critical path)");
      std::string args = fmt::format("\"start_recorded\":{}", timed);
      if (i < s.critical_rank.size() && s.critical_rank[i] >= 0)
        args += fmt::format(",\"critical_rank\":{}", s.critical_rank[i]);
      w_.slice(kJobProcess, kSteps, fmt::format("step {}", s.step[i]), "step", at, s.time[i], args);
      lay_phases(kJobProcess, at, [&](Phase p) {
        const auto& column = s.ledger[index(p)];
        return i < column.size() ? column[i] : kNoDuration;
      });
      next = at + static_cast<uint64_t>(std::max<Ns>(s.time[i], 0));
    }
  }

  void rank_steps() {
    std::unordered_map<int32_t, uint64_t> next;
    for (size_t row = 0; row < e_.steps.size(); ++row) {
      const int32_t rank = e_.steps.rank[row];
      const int64_t process = process_of(rank);
      const bool timed = e_.steps.start[row] != kNoTime;
      const uint64_t at = timed ? since_origin(e_.steps.start[row]) : next[rank];
      name_track(process, kSteps, "steps");
      w_.slice(process, kSteps, fmt::format("step {}", e_.steps.step[row]), "step", at,
               e_.steps.duration[row], fmt::format("\"start_recorded\":{}", timed));
      lay_phases(process, at, [&](Phase p) { return e_.steps.phase(row, p); });
      next[rank] = at + static_cast<uint64_t>(std::max<Ns>(e_.steps.duration[row], 0));
    }
  }

  uint32_t span_track(int64_t process, Lane lane, uint32_t thread) {
    static constexpr std::array<std::string_view, 7> kLaneNames = {
        "training thread", "host thread", "loader worker", "GPU compute",
        "GPU collective",  "GPU copy",    "GPU other"};
    const auto [found, fresh] = tracks_.emplace(std::make_tuple(process, lane, thread), kFirstSpan);
    if (fresh) {
      found->second = kFirstSpan + next_track_[process]++;
      w_.metadata("thread_name", process, found->second,
                  fmt::format("{} {}", kLaneNames[static_cast<size_t>(lane)], thread));
    }
    return found->second;
  }
  void spans() {
    const SpanTable& s = e_.spans;
    for (size_t i = 0; i < s.size(); ++i) {
      if (s.start[i] == kNoTime) continue;
      const int64_t process = process_of(s.rank[i]);
      const uint32_t track = span_track(process, s.lane[i], s.thread[i]);
      std::string args;
      if (s.step[i] >= 0) args = fmt::format("\"step\":{}", s.step[i]);
      if (s.bytes[i] >= 0)
        args += fmt::format("{}\"bytes\":{}", args.empty() ? "" : ",", s.bytes[i]);
      w_.slice(process, track, e_.names[s.op[i]], name(s.phase[i]), since_origin(s.start[i]),
               s.duration[i], args);
    }
  }

  void collectives() {
    const CollectiveTable& c = e_.collectives;
    std::map<std::pair<int64_t, NameId>, uint32_t> groups;
    for (size_t i = 0; i < c.size(); ++i) {
      if (c.start[i] == kNoTime) continue;
      const int64_t process = process_of(c.rank[i]);
      const auto [found, fresh] = groups.emplace(std::make_pair(process, c.group[i]), 0);
      if (fresh) {
        found->second = kFirstSpan + next_track_[process]++;
        w_.metadata("thread_name", process, found->second,
                    fmt::format("collectives {}", e_.names[c.group[i]]));
      }
      std::string args = fmt::format("\"on_device\":{}", c.on_device[i] != 0);
      if (c.seq[i] >= 0) args += fmt::format(",\"seq\":{}", c.seq[i]);
      if (c.bytes[i] >= 0) args += fmt::format(",\"bytes\":{}", c.bytes[i]);
      w_.slice(process, found->second, e_.names[c.op[i]], "collective", since_origin(c.start[i]),
               c.duration[i], args);
    }
  }

  // Their times count from their step: steps are laid one behind the other.
  void ops() {
    const OpTable& o = e_.ops;
    const auto ns = [](float seconds) {
      return std::isfinite(seconds) && seconds > 0 && seconds < 1e9F
                 ? static_cast<uint64_t>(static_cast<double>(seconds) * 1e9)
                 : uint64_t{0};
    };
    std::map<int32_t, uint64_t> begins;
    for (size_t i = 0; i < o.size(); ++i) {
      auto& longest = begins[o.step[i]];
      longest = std::max(longest, ns(o.start[i]) + ns(o.duration[i]));
    }
    uint64_t at = 0;
    for (auto& [step, begin] : begins) at += std::exchange(begin, at);
    for (size_t i = 0; i < o.size(); ++i) {
      const int64_t process = process_of(o.rank[i]);
      name_track(process, kOps, "operations (steps laid one behind the other)");
      std::string args = fmt::format("\"step\":{},\"dp_rank\":{},\"stage\":{}", o.step[i],
                                     o.dp_rank[i], o.stage[i]);
      if (o.microbatch[i] >= 0) args += fmt::format(",\"microbatch\":{}", o.microbatch[i]);
      w_.slice(process, kOps, e_.names[o.optype[i]], "op", begins[o.step[i]] + ns(o.start[i]),
               static_cast<Ns>(ns(o.duration[i])), args);
    }
  }

  void series() {
    std::map<NameId, int64_t> entities;
    for (const auto& s : e_.series) {
      const auto [found, fresh] = entities.emplace(s.entity, next_process_);
      if (fresh) {
        ++next_process_;
        w_.metadata("process_name", found->second, 0,
                    s.entity == kNoName ? "metrics" : e_.names[s.entity]);
      }
      std::string name(e_.names[s.metric]);
      for (const auto& [key, value] : s.labels)
        name += fmt::format(" {}={}", e_.names[key], e_.names[value]);
      for (size_t i = 0; i < s.time.size() && i < s.value.size(); ++i)
        if (s.time[i] != kNoTime && std::isfinite(s.value[i]))
          w_.counter(found->second, name, since_origin(s.time[i]), s.value[i]);
    }
  }

  void events() {
    uint32_t track = kFirstSpan;
    std::map<std::string, uint32_t> tracks;
    for (const auto& event : e_.events) {
      if (event.start == kNoTime) continue;
      std::string args = "\"entity\":";
      append_json_string(args, event.entity);
      std::set<std::string_view> seen = {"entity"};
      for (const auto& [key, value] : event.attributes) {
        if (!seen.insert(key).second) continue;
        args += ',';
        append_json_string(args, key);
        args += ':';
        append_json_string(args, value);
      }
      if (event.end == kNoTime || event.end <= event.start) {
        w_.instant(kJobProcess, event.kind, since_origin(event.start), args);
        continue;
      }
      const auto [found, fresh] = tracks.emplace(event.kind, track);
      if (fresh) w_.metadata("thread_name", kJobProcess, track++, "event: " + event.kind);
      const uint64_t length = since_origin(event.end) - since_origin(event.start);
      w_.slice(kJobProcess, found->second, event.kind, "event", since_origin(event.start),
               static_cast<Ns>(std::min<uint64_t>(length, INT64_MAX)), args);
    }
  }

  const Evidence& e_;
  const Attribution& a_;
  TraceWriter w_;
  Ns origin_ = kNoTime;
  int64_t next_process_ = kFirstRank;
  std::map<int32_t, int64_t> processes_;
  std::set<std::pair<int64_t, uint32_t>> named_;
  std::map<std::tuple<int64_t, Lane, uint32_t>, uint32_t> tracks_;
  std::map<int64_t, uint32_t> next_track_;
};

}  // namespace

void write_perfetto(const Evidence& evidence, const Attribution& attribution, std::FILE* out) {
  Exporter(evidence, attribution, out).run();
}

}  // namespace firstwait
