#include "collect/instrument/bundle_writer.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
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
  BundleWriter writer;
  writer.directory_ = directory;
  writer.job_ = job;
  writer.limits_ = limits;
  if (auto written = writer.flush(); !written) return written.error();
  return writer;
}

void BundleWriter::append(File& file, const char* name, const std::string& text) {
  if (!file) {
    const std::string path = directory_ + "/" + name;
    file.reset(std::fopen(path.c_str(), "we"));
    if (!file) {
      failed_ = path;
      return;
    }
  }
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size())
    failed_ = directory_ + "/" + name;
}

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
  append(steps_, "steps.jsonl", out);
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
  if (span_bytes_ + out.size() > limits_.span_bytes / 2) rotate_spans();
  span_bytes_ += out.size();
  ++spans_written_;
  append(spans_, "spans.jsonl", out);
}

// The newest half at least is kept: in the file that is written, and in the one before it.
void BundleWriter::rotate_spans() {
  spans_.reset();
  const std::string now = directory_ + "/spans.jsonl", before = directory_ + "/spans-before.jsonl";
  dropped_spans_ += spans_before_;
  spans_before_ = spans_written_;
  spans_written_ = span_bytes_ = 0;
  if (std::rename(now.c_str(), before.c_str()) != 0) failed_ = now;
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
  append(settings_, "settings.jsonl", out + "}\n");
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
  append(events_, "events.jsonl", out + "}}\n");
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

void BundleWriter::write_job() {
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
  const std::string path = directory_ + "/job.yaml";
  const File file(std::fopen(path.c_str(), "we"));
  if (!file || std::fwrite(out.data(), 1, out.size(), file.get()) != out.size() ||
      std::fflush(file.get()) != 0)
    failed_ = path;
  job_changed_ = false;
}

Status BundleWriter::flush() {
  if (job_changed_) write_job();
  for (auto* file : {&steps_, &spans_, &settings_, &events_})
    if (*file && std::fflush(file->get()) != 0) failed_ = directory_;
  if (failed_.empty()) return Done{};
  Error error{std::strerror(errno), failed_, "free some space, or name another folder with --out"};
  failed_.clear();
  return error;
}

}  // namespace firstwait
