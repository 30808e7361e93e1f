#include "import/logs/nccl_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "import/logs/step_assembler.h"

namespace firstwait {
namespace {

bool starts_with(std::string_view s, std::string_view start) {
  return s.substr(0, start.size()) == start;
}

// What stands behind `word` in `text`, or nothing.
std::string_view after(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  return at == std::string_view::npos ? std::string_view{} : trim(text.substr(at + word.size()));
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t,"));
}

int32_t small(std::string_view text) {
  const auto value = parse_int(text);
  return value && *value >= 0 && *value < (1 << 24) ? static_cast<int32_t>(*value) : -1;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

// `head`: "[time] host:pid:tid [gpu] " or "host:pid:tid [gpu] file.cc:144 ".
NcclLines::Process& NcclLines::process(std::string_view head) {
  for (const auto word : split_blank(head)) {
    const auto parts = split(word, ':');
    const size_t n = parts.size();
    if (n < 3 || !is_number(parts[n - 1]) || !is_number(parts[n - 2]) || parts[n - 3].empty())
      continue;
    const std::string host(
        word.substr(0, word.size() - parts[n - 1].size() - parts[n - 2].size() - 2));
    if (host.find_first_of("[]()") != std::string::npos) continue;
    std::string key = host + ":" + std::string(parts[n - 2]);
    const size_t open = head.find('[', static_cast<size_t>(word.data() - head.data()));
    std::string_view gpu;
    if (open != std::string_view::npos)
      gpu = head.substr(open + 1, head.find(']', open) - open - 1);
    // One process may drive several devices: each is a rank of its own.
    key += ":" + std::string(gpu);
    Process& p = processes_[key];
    p.host = host;
    if (p.device < 0) p.device = small(gpu);
    return p;
  }
  static const std::string kNone;
  return processes_[kNone];
}

void NcclLines::connection(Process& p, std::string_view via) {
  std::string kind;
  if (starts_with(via, "NET/")) {
    const auto parts = split(first_word(via), '/');
    kind = "NET/" + std::string(parts.size() > 1 ? parts[1] : "");
    ++p.net;
    if (contains(via, "GDRDMA")) {
      ++p.gdr;
      kind += "/GDRDMA";
    }
  } else if (starts_with(via, "P2P")) {
    kind = "P2P";
  } else if (starts_with(via, "SHM") || starts_with(via, "direct shared memory")) {
    kind = "SHM";
  } else if (starts_with(via, "NVLS")) {
    kind = "NVLS";
  } else if (starts_with(via, "COLLNET") || starts_with(via, "CollNet")) {
    kind = "CollNet";
  } else {
    return;
  }
  p.transports.insert(std::move(kind));
}

// "comm 0x7f… rank 3 nranks 16 cudaDev 3 [nvmlDev 3] busId c1000 … Init COMPLETE"
void NcclLines::communicator(Process& p, std::string_view text) {
  const int32_t ranks = small(first_word(after(text, " nranks ")));
  const int32_t rank = small(first_word(after(text, " rank ")));
  if (ranks <= 0 || rank < 0 || rank >= ranks || ranks < p.ranks)
    return;  // the largest communicator is the job
  p.ranks = ranks;
  p.rank = rank;
  const int32_t device = small(first_word(after(text, " cudaDev ")));
  if (device >= 0) p.device = device;
  const auto bus = first_word(after(text, " busId "));
  if (!bus.empty()) p.bus = bus;
}

void NcclLines::message(Process& p, std::string_view text) {
  const size_t set = text.find(" set ");
  if (starts_with(text, "NCCL_") && set != std::string_view::npos) {
    const auto name = text.substr(0, set);
    std::string_view value = after(text, " to ");
    while (!value.empty() && (value.back() == '.' || value.back() == '\'' || value.back() == '"'))
      value.remove_suffix(1);
    while (!value.empty() && (value.front() == '\'' || value.front() == '"'))
      value.remove_prefix(1);
    if (name.find(' ') == std::string_view::npos) p.facts["env." + std::string(name)] = value;
    return;
  }
  if (const auto via = after(text, " via ");
      !via.empty() && (contains(text, "->") || contains(text, "Ring"))) {
    return connection(p, via);
  }
  if (contains(text, "comm ") && contains(text, " nranks ")) return communicator(p, text);
  if (starts_with(text, "Channel ")) {  // "Channel 00/02 :    0   1   2   3"
    const size_t slash = text.find('/');
    const size_t colon = text.find(':');
    if (slash != std::string_view::npos && colon != std::string_view::npos && slash < colon)
      channels_ = std::max(channels_, small(trim(text.substr(slash + 1, colon - slash - 1))));
    return;
  }
  if (contains(text, " coll channels")) {
    channels_ = std::max(channels_, small(first_word(text)));
    return;
  }
  if (starts_with(text, "Using network "))
    p.facts["nccl.network"] = after(text, "Using network ");
  else if (starts_with(text, "NET/Plugin"))
    p.facts["nccl.net_plugin"] = trim(text.substr(std::min(text.find(':') + 1, text.size())));
  else if (starts_with(text, "Bootstrap"))
    p.facts["nccl.bootstrap"] = after(text, "Using ");
  else if (starts_with(text, "NET/IB : Using") || starts_with(text, "NET/Socket : Using") ||
           starts_with(text, "NET/OFI Using"))
    p.facts["nccl.interfaces"] = after(text, "Using ");
  else if (starts_with(text, "NET/IB : No device found"))
    p.facts["nccl.ib_devices"] = "none";
  else if (starts_with(text, "NVLS multicast support is "))
    p.facts["nccl.nvls"] = after(text, "support is ");
  else if (contains(text, "GPU Direct RDMA Disabled"))
    p.facts["nccl.gdr"] = "0";
  else if (starts_with(text, "cudaDriverVersion "))
    p.facts["cuda.driver_api"] = first_word(after(text, "cudaDriverVersion "));
}

bool NcclLines::line(std::string_view text, Ns time, uint64_t number) {
  if (const auto version = after(text, "NCCL version ");
      !version.empty() && !contains(text, "WARN")) {
    version_ = first_word(version);
    ++lines_;
    return true;
  }
  const size_t info = text.find(" NCCL INFO ");
  if (info != std::string_view::npos) {
    ++lines_;
    Process& p = process(text.substr(0, info));
    if (p.host.empty()) context_.count(kNcclUnreadable, 1, fmt::format("line {}", number));
    message(p, trim(text.substr(info + 11)));
    return true;
  }
  const size_t warn = text.find(" NCCL WARN ");
  if (warn != std::string_view::npos) {
    ++lines_;
    Process& p = process(text.substr(0, warn));
    if (++warnings_ > 100)
      context_.count(kNcclWarnings);
    else {
      Event e;
      e.kind = "nccl_warning";
      e.entity = p.host.empty() ? log_job(context_) : "host/" + p.host;
      e.start = time;
      e.source = context_.path;
      e.attributes = {{"message", std::string(trim(text.substr(warn + 11)))},
                      {"line", std::to_string(number)}};
      context_.out.events.push_back(std::move(e));
    }
    return true;
  }
  return benchmark(text);
}

void NcclLines::bandwidth(std::string entity, std::string_view metric, double bytes_per_second,
                          std::string_view size, std::string_view placement) {
  if (!(bytes_per_second >= 0) || bytes_per_second > 1e15) return;
  bandwidths_.push_back({std::move(entity), std::string(metric), std::string(size),
                         std::string(placement), bytes_per_second});
}

constexpr std::string_view kAlgorithm = "firstwait_nccl_algbw_bytes_per_second";
constexpr std::string_view kBus = "firstwait_nccl_busbw_bytes_per_second";

// all_reduce_bench: "3:", " duration: 1.5311 sec", " algo throughput: 41799656984.3 bps, …", "
// busbw: 40.49  Gbps". Bits per second there; bytes per second ("GB/s") in the table of nccl-tests.
bool NcclLines::benchmark(std::string_view text) {
  const std::string_view s = trim(text);
  if (s.empty()) return false;
  if (s.back() == ':' && is_number(s.substr(0, s.size() - 1))) {
    bench_rank_ = small(s.substr(0, s.size() - 1));
    return true;
  }
  if (const auto size = after(s, "data size: "); !size.empty()) {
    bench_bytes_ = size;
    return true;
  }
  const std::string entity =
      bench_rank_ >= 0 ? fmt::format("rank/{}", bench_rank_) : log_job(context_);
  if (starts_with(s, "algo throughput: ")) {
    const auto words = split_blank(s.substr(17));
    const auto value = parse_double(words.front());
    if (value && words.size() > 1 && starts_with(words[1], "bps"))
      bandwidth(entity, kAlgorithm, *value / 8, bench_bytes_);
    return true;
  }
  if (starts_with(s, "busbw: ")) {
    const auto words = split_blank(s.substr(7));
    const auto value = parse_double(words.front());
    if (value && words.size() > 1 && words[1] == "Gbps")
      bandwidth(entity, kBus, *value * 1e9 / 8, bench_bytes_);
    bench_rank_ = -1;  // the last line of a report; what follows without a rank is nobody's
    return true;
  }
  if (s.front() == '#') {
    if (contains(s, "busbw") && contains(s, "algbw")) table_ = true;
    // "#  Rank  0 Group  0 Pid 12345 on  node01 device  0 [0x0f] NVIDIA A100"
    const auto words = split_blank(s);
    if (words.size() > 8 && words[1] == "Rank") {
      for (size_t i = 2; i + 3 < words.size(); ++i)
        if (words[i] == "on" && words[i + 2] == "device") {
          Process& p = processes_[fmt::format("table:{}", words[2])];
          p.host = words[i + 1];
          p.rank = small(words[2]);
          p.device = small(words[i + 3]);
        }
      return true;
    }
    return table_;
  }
  return table_ && table_row(s);
}

// "8388608  2097152  float  sum  -1  232.5  36.08  67.65  0  231.9  36.2  67.8  0": out of place,
// then in place.
bool NcclLines::table_row(std::string_view text) {
  const auto words = split_blank(text);
  if (words.size() < 7 || !is_number(words[0]) || !is_number(words[1])) return false;
  size_t first = 2;
  while (first < words.size() &&
         (!parse_double(words[first]) || words[first].find('.') == std::string_view::npos))
    ++first;
  for (int half = 0; half < 2 && first + 2 < words.size(); ++half, first += 4) {
    const auto algorithm = parse_double(words[first + 1]), bus = parse_double(words[first + 2]);
    if (!algorithm || !bus) break;
    const auto placement = half == 0 ? "out_of_place" : "in_place";
    bandwidth(log_job(context_), kAlgorithm, *algorithm * 1e9, words[0], placement);
    bandwidth(log_job(context_), kBus, *bus * 1e9, words[0], placement);
  }
  return true;
}

void NcclLines::write_ranks() {
  int32_t world = -1;
  std::map<int32_t, int> seen;
  for (const auto& [key, p] : processes_) {
    world = std::max(world, p.ranks);
    if (p.rank >= 0) ++seen[p.rank];
  }
  auto& out = context_.out;
  for (auto& [key, p] : processes_) {
    // Ranks of smaller communicators are not the job's.
    if (p.rank >= 0 && ((p.ranks > 0 && p.ranks < world) || seen[p.rank] > 1)) p.rank = -1;
    if (p.rank < 0 || p.host.empty()) continue;
    auto& info = out.rank(p.rank);
    if (info.host.empty()) info.host = p.host;
    if (info.source.empty()) info.source = context_.path;
    if (p.device >= 0) {
      if (info.local_rank < 0) info.local_rank = p.device;
      if (info.gpu.empty()) info.gpu = fmt::format("{}:{}", p.host, p.device);
    }
    out.relations.push_back({fmt::format("rank/{}", p.rank), "runs_on", "host/" + p.host,
                             context_.path, kNoTime, kNoTime});
    if (p.device >= 0)
      out.relations.push_back({fmt::format("rank/{}", p.rank), "uses",
                               fmt::format("gpu/{}:{}", p.host, p.device), context_.path, kNoTime,
                               kNoTime});
    if (!p.bus.empty() && p.device >= 0)
      out.entities.push_back({fmt::format("gpu/{}:{}", p.host, p.device), {{"bus_id", p.bus}}});
  }
  if (world > 0) {
    if (out.job.world_size < 0) out.job.world_size = world;
    out.settings.push_back(
        {log_job(context_), "world_size", std::to_string(world), context_.path, kNoTime});
  }
}

void NcclLines::write_settings() {
  auto& settings = context_.out.settings;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> per_host;
  for (const auto& [key, p] : processes_) {
    if (p.host.empty()) continue;
    const std::string host = "host/" + p.host;
    std::string process = key;
    if (!process.empty() && process.back() == ':') process.pop_back();
    const std::string entity = p.rank >= 0 ? fmt::format("rank/{}", p.rank) : "process/" + process;
    for (const auto& [fact, value] : p.facts) per_host[{host, fact}].insert(value);
    if (p.transports.empty()) continue;
    std::string transports;
    for (const auto& t : p.transports) transports += (transports.empty() ? "" : ",") + t;
    settings.push_back({entity, "nccl.transport", transports, context_.path, kNoTime});
    // GPUDirect RDMA is a matter of network connections only, and of all of them.
    if (p.net > 0)
      settings.push_back({entity, "nccl.gdr", p.gdr == p.net ? "1" : "0", context_.path, kNoTime});
  }
  for (const auto& [place, values] : per_host) {
    std::string all;
    for (const auto& v : values) all += (all.empty() ? "" : "; ") + v;
    settings.push_back({place.first, place.second, all, context_.path, kNoTime});
  }
  const std::string job = log_job(context_);
  if (!version_.empty())
    settings.push_back({job, "nccl.version", version_, context_.path, kNoTime});
  if (channels_ > 0)
    settings.push_back({job, "nccl.channels", std::to_string(channels_), context_.path, kNoTime});
  if (!bench_bytes_.empty())
    settings.push_back({job, "nccl.bench_size", bench_bytes_, context_.path, kNoTime});
}

// A benchmark prints no times: its results are numbered, one a second from zero.
void NcclLines::write_series() {
  auto& out = context_.out;
  std::map<std::string, size_t> at;
  std::vector<double> bus;
  for (const auto& b : bandwidths_) {
    const std::string key = b.entity + "|" + b.metric + "|" + b.bytes + "|" + b.placement;
    auto found = at.find(key);
    if (found == at.end()) {
      Series s;
      s.metric = out.names.intern(b.metric);
      s.entity = out.names.intern(b.entity);
      if (!b.placement.empty())
        s.labels.emplace_back(out.names.intern("placement"), out.names.intern(b.placement));
      if (!b.bytes.empty())
        s.labels.emplace_back(out.names.intern("size"), out.names.intern(b.bytes));
      found = at.emplace(key, out.series.size()).first;
      out.series.push_back(std::move(s));
    }
    auto& series = out.series[found->second];
    series.time.push_back(static_cast<Ns>(series.time.size()) * 1'000'000'000);
    series.value.push_back(b.value);
    if (b.metric == kBus) bus.push_back(b.value);
  }
  if (bus.empty()) return;
  std::nth_element(bus.begin(), bus.begin() + static_cast<std::ptrdiff_t>(bus.size() / 2),
                   bus.end());
  out.settings.push_back({log_job(context_), "nccl.busbw_median_bytes_per_second",
                          fmt::format("{:.0f}", bus[bus.size() / 2]), context_.path, kNoTime});
}

void NcclLines::finish() {
  write_ranks();
  write_settings();
  write_series();
}

int sniff_nccl(std::string_view head) {
  int lines = 0;
  bool bench = contains(head, "algo throughput: ") && contains(head, "busbw: ");
  for (const std::string_view word : {"NCCL INFO ", "NCCL WARN ", "NCCL version "})
    for (size_t at = head.find(word); at != std::string_view::npos; at = head.find(word, at + 1))
      ++lines;
  bench = bench || (contains(head, "algbw") && contains(head, "busbw") && contains(head, "#"));
  if (lines >= 2 || bench) return 70;
  return lines == 1 ? 45 : 0;
}

}  // namespace firstwait
