#include "collect/instrument/recorder.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>

#include "base/saturate.h"
#include "base/text.h"
#include "collect/file.h"
#include "collect/mount_of.h"
#include "firstwait/emit.h"

namespace firstwait {
namespace {

constexpr HealthCounter kLost{
    "records_overwritten", Severity::data_loss,
    "the program reported faster than it was read; set FIRSTWAIT_RING_RECORDS higher"};
constexpr HealthCounter kTorn{"records_torn", Severity::info,
                              "the program was stopped in the middle of a record"};
constexpr HealthCounter kNoRing{"not_a_ring", Severity::error,
                                "use libfirstwait_emit and firstwait of one release"};
constexpr HealthCounter kTooMany{
    "too_many_processes", Severity::data_loss,
    "more than 4096 processes report at once; switch the hooks off in some"};
constexpr HealthCounter kNotWritten{
    "rows_not_written", Severity::data_loss,
    "the disk was full; free some space, or name another folder with --out"};
constexpr HealthCounter kDropped{"rows_dropped", Severity::info,
                                 "the oldest made room: what is kept of a run is bounded"};
constexpr size_t kMostProcesses = 4096;
constexpr size_t kMostRings = 1 << 16;  // in the life of a run
// A record is complete this long after the time that it bears, unless its writer was held up.
constexpr Ns kSettled = 50'000'000;

// The phases that each hook of python/firstwait sees.
struct Watches {
  std::string_view hook;
  Phase phase;
};
constexpr Watches kWatches[] = {{"loader", Phase::input_wait},      {"copies", Phase::h2d},
                                {"model", Phase::forward},          {"model", Phase::evaluation},
                                {"backward", Phase::backward},      {"optimizer", Phase::optimizer},
                                {"distributed", Phase::collective}, {"distributed", Phase::p2p},
                                {"checkpoint", Phase::checkpoint},  {"collector", Phase::gc},
                                {"logs", Phase::logging},           {"compiler", Phase::compile}};

void watch_phases(std::string_view hooks, std::array<bool, kPhases>& watched) {
  for (const auto hook : split(hooks, ','))
    for (const auto& w : kWatches)
      if (w.hook == hook) watched[index(w.phase)] = true;
}

bool is_gone(int32_t pid) { return pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH); }

}  // namespace

struct Recorder::Process {
  struct Counted {
    uint32_t name;
    double value;
    Ns time;
  };
  explicit Process(RingReader r)
      : ring(std::move(r)), assembler(static_cast<uint32_t>(ring.identity().pid)) {}
  RingReader ring;
  StepAssembler assembler;
  std::map<std::pair<uint32_t, Ns>, InstrumentSpan> open;  // begun; by thread and start
  std::deque<InstrumentSpan> waiting;                      // until the rank is known
  std::deque<Counted> counters;                            // likewise
  std::vector<RingSetting> settings;
  // The last steps: their ends and numbers, in order.
  std::deque<std::pair<Ns, int64_t>> stepped;
  std::array<bool, kPhases>
      watched{};  // phases that a hook looks at: without a record they took no time
  int64_t workers = -1;
  int32_t rank = -1;
  bool gone = false, trains = false, counted_lost = false;
};

Recorder::Recorder(std::string rings, BundleWriter writer, ClockPair clock)
    : rings_(std::move(rings)), clock_(clock), writer_(std::move(writer)) {}
Recorder::~Recorder() = default;

void Recorder::find_rings() {
  DIR* folder = ::opendir(rings_.c_str());
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(".ring") || processes_.contains(name)) continue;
    if (processes_.size() >= kMostProcesses || seen_ >= kMostRings) {
      health_.add(rings_, kTooMany);
      break;
    }
    auto ring = RingReader::open(rings_ + "/" + name, clock_);
    ++seen_;
    if (!ring) health_.add(name, kNoRing);
    processes_.emplace(name, ring ? std::make_unique<Process>(std::move(*ring)) : nullptr);
  }
  ::closedir(folder);
}

// What the data set lies on, as the process sees it.
void Recorder::add_mount(Process& p, const RingSetting& path) {
  const auto mounts =
      read_whole("/proc/" + std::to_string(p.ring.identity().pid) + "/mountinfo", 4 << 20);
  std::error_code ignored;
  const auto target = std::filesystem::weakly_canonical(path.value, ignored);
  const auto mount = mounts ? mount_of(*mounts, target.string()) : std::nullopt;
  if (!mount) return;
  p.settings.push_back({"dataset.fstype", mount->type, path.time});
  const std::string_view source = mount->source;
  p.settings.push_back({"dataset.device",
                        std::string(source.starts_with("/dev/") ? source.substr(5) : source),
                        path.time});
}

// The rank that the process says; else the first that nobody has.
int32_t Recorder::rank_of(Process& p) {
  if (p.rank >= 0) return p.rank;
  const int32_t pid = p.ring.identity().pid;
  int32_t rank = p.ring.identity().rank;
  if (const auto taken = ranks_.find(rank);
      taken != ranks_.end() && !is_gone(taken->second) && taken->second != pid)
    rank = -1;
  if (rank < 0)
    for (rank = 0; ranks_.contains(rank) && ranks_[rank] != pid; ++rank) continue;
  ranks_[rank] = pid;
  p.rank = rank;
  writer_.rank(rank, p.ring.identity().host, p.ring.identity().local_rank,
               p.ring.identity().world_size);
  return rank;
}

Recorder::Process* Recorder::trainer_of(const Process& loader) const {
  int32_t parent = loader.ring.identity().parent;
  for (int depth = 0; depth < 4; ++depth) {
    Process* found = nullptr;
    for (const auto& [name, p] : processes_)
      if (p && p.get() != &loader && p->ring.identity().pid == parent) found = p.get();
    if (found == nullptr) return nullptr;
    if (found->ring.identity().role != ProcessRole::loader) return found;
    parent = found->ring.identity().parent;
  }
  return nullptr;
}

void Recorder::take_record(Process& p, const RingRecord& r) {
  if (r.kind == RingKind::counter) {
    constexpr size_t kMostCounters = 1 << 16;
    if (p.counters.size() >= kMostCounters) p.counters.pop_front();
    p.counters.push_back({r.name, std::bit_cast<double>(r.value), r.end});
    return;
  }
  if (r.kind == RingKind::step) {
    p.trains = true;
    p.assembler.add_step(r.seq, r.value, r.end, r.thread);
    return;
  }
  InstrumentSpan span{r.start,
                      r.end,
                      r.phase,
                      r.lane,
                      r.thread,
                      std::string(p.ring.name(r.name)),
                      std::string(p.ring.name(r.group)),
                      r.seq,
                      r.value,
                      r.kind == RingKind::begin};
  if (span.open) {
    constexpr size_t kMostOpen = 4096;
    if (p.open.size() >= kMostOpen) p.open.clear();
    p.open.insert_or_assign({r.thread, r.start}, std::move(span));
    return;
  }
  p.open.erase({r.thread, r.start});
  if (p.ring.identity().role == ProcessRole::loader) {
    if (Process* trainer = trainer_of(p))
      trainer->assembler.add_loader_work(span.phase, span.start, span.end);
  } else {
    p.assembler.add(span);
  }
  constexpr size_t kMostWaiting = 1 << 16;
  if (p.waiting.size() >= kMostWaiting) p.waiting.pop_front();
  p.waiting.push_back(std::move(span));
}

void Recorder::drain(Process& p, Ns now, bool last) {
  const bool gone =
      last || is_gone(p.ring.identity().pid);  // asked first: what it wrote until then is read
  std::vector<RingRecord> records;
  std::vector<RingSetting> settings;
  const uint64_t lost = p.ring.lost(), torn = p.ring.torn();
  p.ring.poll(now, gone, records, settings);
  p.gone = gone;
  const std::string source = "process " + std::to_string(p.ring.identity().pid);
  if (p.ring.lost() > lost) health_.add(source, kLost, p.ring.lost() - lost);
  if (p.ring.torn() > torn) health_.add(source, kTorn, p.ring.torn() - torn);
  for (const auto& r : records) take_record(p, r);
  for (auto& s : settings) {
    if (s.key == "firstwait.hooks") watch_phases(s.value, p.watched);
    if (s.key == "loader.num_workers") p.workers = parse_int(s.value).value_or(-1);
    p.settings.push_back(s);
    if (s.key == "dataset.path") add_mount(p, s);
  }
}

void Recorder::take_steps(Process& p, Ns until) {
  auto steps = p.assembler.take(until);
  if (!p.trains && !p.gone) return;
  if (p.trains && p.rank < 0 && !steps.empty()) {
    rank_of(p);
    ++trainers_;
  }
  for (auto& step : steps) {
    for (size_t i = 0; i < kPhases; ++i)
      if (p.watched[i] && step.phases[i] == kNoDuration) step.phases[i] = 0;
    constexpr size_t kMostRecent = 4000;
    if (recent_.size() >= kMostRecent) recent_.pop_front();
    recent_.push_back(writer_.step(p.rank, p.ring.identity().host, step, p.workers));
    constexpr size_t kMostSteps = 4096;
    if (p.stepped.size() >= kMostSteps) p.stepped.pop_front();
    p.stepped.emplace_back(sat_add(step.start, step.duration), step.step);
    ++steps_;
  }
}

// What a killed program was doing.
void Recorder::leave_open_spans(Process& p, Ns at) {
  for (auto& [key, span] : p.open) {
    span.end = std::max(span.start, at);
    p.waiting.push_back(std::move(span));
  }
  p.open.clear();
}

void Recorder::write_spans(Process& p) {
  int32_t rank = p.rank;
  const bool loader = p.ring.identity().role == ProcessRole::loader;
  if (loader)
    if (const Process* trainer = trainer_of(p)) rank = trainer->rank;
  if (rank < 0 && p.gone && !loader && !p.waiting.empty() &&
      p.ring.identity().role == ProcessRole::trainer)
    rank = rank_of(p);  // killed in its first step
  if (rank < 0) {
    if (p.gone) p.waiting.clear();
    return;
  }
  for (const auto& c : p.counters)
    writer_.counter(rank, p.ring.identity().host, p.ring.name(c.name), c.value, c.time);
  p.counters.clear();
  std::deque<InstrumentSpan> later;
  for (auto& span : p.waiting) {
    const bool own = !loader && span.lane == FIRSTWAIT_THREAD;
    const auto step = std::lower_bound(p.stepped.begin(), p.stepped.end(), span.end,
                                       [](const auto& s, Ns end) { return s.first < end; });
    const bool told = step != p.stepped.end();
    if (own && !told && !p.gone) {
      later.push_back(std::move(span));  // its step has not ended
      continue;
    }
    if (span.phase == FIRSTWAIT_CHECKPOINT && !span.open) writer_.checkpoint(span, rank);
    // The step tells of its collectives itself: a span beside it would be a second one.
    if (own && told && span.phase == FIRSTWAIT_COLLECTIVE && !span.group.empty()) continue;
    writer_.span(rank, own && told ? step->second : -1, span);
  }
  p.waiting = std::move(later);
  for (const auto& s : p.settings) writer_.setting("rank/" + std::to_string(rank), s);
  p.settings.clear();
}

std::vector<RingIdentity> Recorder::identities() const {
  std::vector<RingIdentity> out;
  for (const auto& [name, p] : processes_) {
    if (!p || p->gone) continue;
    RingIdentity identity = p->ring.identity();
    if (p->trains) {
      identity.role = ProcessRole::trainer;
      identity.rank = p->rank;
    } else if (identity.role == ProcessRole::loader) {
      if (const Process* trainer = trainer_of(*p)) identity.rank = trainer->rank;
    }
    if (identity.rank >= 0) out.push_back(std::move(identity));
  }
  return out;
}

void Recorder::forget_finished() {
  for (auto at = processes_.begin(); at != processes_.end();) {
    Process* p = at->second.get();
    const bool keep = p == nullptr || !p->gone || !p->waiting.empty();
    if (!keep) ::unlink((rings_ + "/" + at->first).c_str());
    at = keep ? std::next(at) : processes_.erase(at);
  }
}

Health Recorder::health() const {
  Health all = health_;
  for (const auto& loss : writer_.losses()) {
    if (loss.not_written > 0) all.add(loss.file, kNotWritten, loss.not_written);
    if (loss.dropped > 0) all.add(loss.file, kDropped, loss.dropped);
  }
  return all;
}

Status Recorder::poll(bool last) {
  const Ns now = ClockPair::now().monotonic;
  find_rings();
  for (const auto& [name, p] : processes_)
    if (p) drain(*p, now, last);
  for (const auto& [name, p] : processes_)
    if (p) take_steps(*p, last || p->gone ? INT64_MAX : p->ring.at(now - kSettled));
  for (const auto& [name, p] : processes_) {
    if (!p) continue;
    if (p->gone) leave_open_spans(*p, p->ring.at(now));
    write_spans(*p);
  }
  forget_finished();
  return writer_.flush();
}

}  // namespace firstwait
