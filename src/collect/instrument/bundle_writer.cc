#include "collect/instrument/bundle_writer.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace firstwait {
namespace {

constexpr Ns kSecond = 1'000'000'000;

void append_seconds(std::string& out, Ns ns) {
  const uint64_t magnitude = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  fmt::format_to(std::back_inserter(out), "{}{}.{:09}", ns < 0 ? "-" : "", magnitude / kSecond,
                 magnitude % kSecond);
}

bool is_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const size_t n = c < 0x80                ? 1
                     : c >= 0xc2 && c < 0xe0 ? 2
                     : c >= 0xe0 && c < 0xf0 ? 3
                     : c >= 0xf0 && c < 0xf5 ? 4
                                             : 0;
    if (n == 0 || i + n > s.size()) return false;
    for (size_t j = 1; j < n; ++j)
      if ((static_cast<unsigned char>(s[i + j]) & 0xc0) != 0x80) return false;
    const auto second = n > 2 ? static_cast<unsigned char>(s[i + 1]) : 0;
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
        (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f))
      return false;
    i += n;
  }
  return true;
}

// A JSON string, which is a YAML string too. Text that is not UTF-8 loses its high bytes.
void append_text(std::string& out, std::string_view text) {
  const bool keep = is_utf8(text);
  out += '"';
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (u < 0x20 || u == 0x7f)
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", u);
    else
      out += keep || u < 0x80 ? c : '?';
  }
  out += '"';
}

// A label's value as OpenMetrics has it.
void append_label(std::string& out, std::string_view text) {
  const bool keep = is_utf8(text);
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else
      out += keep || static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
  out += '"';
}

std::string_view phase_name(uint8_t phase) {
  if (phase >= 16 && phase < 16 + kLoaderWorks) return kLoaderWorkNames[phase - size_t{16}];
  return phase < kPhases ? kPhaseNames[phase] : std::string_view("unexplained");
}

template <size_t N>
bool append_times(std::string& out, const char* key, const std::array<Ns, N>& values,
                  const std::array<std::string_view, N>& names) {
  bool any = false;
  for (size_t i = 0; i < N; ++i) {
    if (values[i] < 0) continue;
    if (any)
      out += ',';
    else
      fmt::format_to(std::back_inserter(out), ",\"{}\":{{", key);
    any = true;
    fmt::format_to(std::back_inserter(out), "\"{}\":", names[i]);
    append_seconds(out, values[i]);
  }
  return any;
}

void append_collectives(std::string& out, const std::vector<InstrumentCollective>& collectives) {
  if (collectives.empty()) return;
  out += ",\"collectives\":[";
  for (size_t i = 0; i < collectives.size(); ++i) {
    const auto& c = collectives[i];
    out += i == 0 ? "{\"group\":" : ",{\"group\":";
    append_text(out, c.group);
    out += ",\"op\":";
    append_text(out, c.op);
    if (c.seq >= 0) fmt::format_to(std::back_inserter(out), ",\"seq\":{}", c.seq);
    if (c.bytes >= 0) fmt::format_to(std::back_inserter(out), ",\"bytes\":{}", c.bytes);
    out += ",\"start\":";
    append_seconds(out, c.start);
    out += ",\"duration\":";
    append_seconds(out, c.duration);
    out += ",\"on_device\":false}";
  }
  out += ']';
}

}  // namespace

Result<BundleWriter> BundleWriter::open(const std::string& directory, const std::string& job,
                                        Limits limits) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return Error{error.message(), directory, "name a folder that can be written with --out"};
  BundleWriter writer(directory, job, limits);
  if (auto written = writer.flush(); !written) return written.error();
  return writer;
}

BundleWriter::BundleWriter(std::string directory, std::string job, const Limits& limits)
    : directory_(std::move(directory)),
      job_(std::move(job)),
      steps_(directory_ + "/steps.jsonl", limits.step_bytes),
      spans_(directory_ + "/spans.jsonl", limits.span_bytes),
      settings_(directory_ + "/settings.jsonl", limits.other_bytes),
      events_(directory_ + "/events.jsonl", limits.other_bytes),
      counters_(directory_ + "/metrics.om", limits.counter_bytes,
                "# TYPE firstwait_program_value gauge\n") {}

std::string BundleWriter::step(int32_t rank, const std::string& host, const InstrumentStep& step,
                               int64_t workers) {
  std::string out = "{\"job\":";
  append_text(out, job_);
  fmt::format_to(std::back_inserter(out), ",\"rank\":{},\"host\":", rank);
  append_text(out, host);
  fmt::format_to(std::back_inserter(out), ",\"step\":{},\"start\":", step.step);
  append_seconds(out, step.start);
  out += ",\"duration\":";
  append_seconds(out, step.duration);
  if (append_times(out, "phases", step.phases, kPhaseNames)) out += '}';
  if (step.first) out += ",\"kind\":\"warmup\"";
  if (step.epoch >= 0) fmt::format_to(std::back_inserter(out), ",\"epoch\":{}", step.epoch);
  if (step.samples >= 0) fmt::format_to(std::back_inserter(out), ",\"samples\":{}", step.samples);
  bool told = append_times(out, "loader", step.loader, kLoaderWorkNames);
  const auto also = [&](const char* key, const std::string& value) {
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", told ? "," : ",\"loader\":{", key,
                   value);
    told = true;
  };
  if (workers >= 0) also("workers", std::to_string(workers));
  if (step.queued) also("queued", fmt::format("{:.2f}", *step.queued));
  if (told) out += '}';
  append_collectives(out, step.collectives);
  out += "}\n";
  steps_.append(out);
  return out;
}

void BundleWriter::span(int32_t rank, int64_t step, const InstrumentSpan& span) {
  std::string out = fmt::format("{{\"rank\":{}", rank);
  if (step >= 0) fmt::format_to(std::back_inserter(out), ",\"step\":{}", step);
  fmt::format_to(std::back_inserter(out), ",\"phase\":\"{}\",\"op\":", phase_name(span.phase));
  append_text(out, span.op);
  out += ",\"start\":";
  append_seconds(out, span.start);
  out += ",\"duration\":";
  append_seconds(out, std::max<Ns>(0, span.end - span.start));
  const char* lane = span.lane == 1     ? "stream"
                     : span.lane == 2   ? "background"
                     : span.phase >= 16 ? "loader"
                                        : "main";
  fmt::format_to(std::back_inserter(out), ",\"thread\":\"{} {}\"", lane, span.thread);
  if (!span.group.empty()) {
    out += ",\"group\":";
    append_text(out, span.group);
    if (span.seq >= 0) fmt::format_to(std::back_inserter(out), ",\"seq\":{}", span.seq);
  }
  const bool has_bytes = span.phase == 1 || span.phase == 5 || span.phase == 6 || span.phase == 7;
  if (has_bytes && span.bytes >= 0)
    fmt::format_to(std::back_inserter(out), ",\"bytes\":{}", span.bytes);
  if (span.open) out += ",\"open\":true";
  out += "}\n";
  spans_.append(out);
}

void BundleWriter::setting(const std::string& entity, const RingSetting& setting) {
  std::string out = "{\"entity\":";
  append_text(out, entity);
  out += ",\"key\":";
  append_text(out, setting.key);
  out += ",\"value\":";
  append_text(out, setting.value);
  out += ",\"source\":\"the training process\",\"time\":";
  append_seconds(out, setting.time);
  settings_.append(out + "}\n");
}

void BundleWriter::checkpoint(const InstrumentSpan& span, int32_t rank) {
  std::string out = "{\"kind\":\"checkpoint\",\"entity\":";
  append_text(out, "job/" + job_);
  out += ",\"start\":";
  append_seconds(out, span.start);
  out += ",\"end\":";
  append_seconds(out, span.end);
  fmt::format_to(std::back_inserter(out), ",\"attributes\":{{\"status\":\"{}\",\"rank\":\"{}\"",
                 span.seq == 1 ? "failed" : "ok", rank);
  if (span.bytes >= 0) fmt::format_to(std::back_inserter(out), ",\"bytes\":{}", span.bytes);
  events_.append(out + "}}\n");
}

void BundleWriter::counter(int32_t rank, const std::string& host, std::string_view name,
                           double value, Ns time) {
  if (!std::isfinite(value)) return;
  std::string out = "firstwait_program_value{instance=";
  append_label(out, host);
  out += ",name=";
  append_label(out, name);
  fmt::format_to(std::back_inserter(out), ",rank=\"{}\"}} {} ", rank, value);
  append_seconds(out, time);
  counters_.append(out + '\n');
}

void BundleWriter::rank(int32_t rank, const std::string& host, int32_t local_rank,
                        int32_t world_size) {
  Rank& known = ranks_[rank];
  if (known.host == host && known.local_rank == local_rank &&
      (world_size < 0 || world_size == world_size_))
    return;
  known.host = host;
  known.local_rank = local_rank;
  if (world_size > 0) world_size_ = world_size;
  job_changed_ = true;
}

bool BundleWriter::write_job() {
  std::string out = "job: ";
  append_text(out, job_);
  out += '\n';
  if (!ranks_.empty()) out += "framework: pytorch\n";
  const auto world = world_size_ > 0 ? world_size_ : static_cast<int32_t>(ranks_.size());
  if (world > 0) fmt::format_to(std::back_inserter(out), "world_size: {}\n", world);
  if (!ranks_.empty()) out += "ranks:\n";
  for (const auto& [rank, r] : ranks_) {
    fmt::format_to(std::back_inserter(out), "  - {{rank: {}, host: ", rank);
    append_text(out, r.host);
    if (r.local_rank >= 0)
      fmt::format_to(std::back_inserter(out), ", local_rank: {}", r.local_rank);
    out += "}\n";
  }
  const std::string path = directory_ + "/job.yaml", made = path + ".new";
  std::FILE* file = std::fopen(made.c_str(), "we");
  if (file == nullptr) return false;
  const bool written = std::fwrite(out.data(), 1, out.size(), file) == out.size();
  if (std::fclose(file) != 0 || !written || std::rename(made.c_str(), path.c_str()) != 0) {
    std::remove(made.c_str());
    return false;
  }
  job_changed_ = false;
  return true;
}

Status BundleWriter::flush() {
  std::string failed;
  int reason = 0;
  const auto note = [&](bool good, const std::string& path) {
    if (good) return;
    reason = errno;
    failed = path;
  };
  if (job_changed_) note(write_job(), directory_ + "/job.yaml");
  for (auto* file : {&steps_, &spans_, &settings_, &events_, &counters_})
    note(file->flush(), file->path());
  if (failed.empty()) return Done{};
  return Error{std::strerror(reason), failed, "free some space, or name another folder with --out"};
}

std::vector<BundleWriter::Loss> BundleWriter::losses() const {
  std::vector<Loss> out;
  for (const auto* file : {&steps_, &spans_, &settings_, &events_, &counters_})
    if (file->lost() > 0 || file->dropped() > 0)
      out.push_back({file->path(), file->lost(), file->dropped()});
  return out;
}

}  // namespace firstwait
