// A collector: a constant descriptor and an object that samples. One file each in collectors/.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/registered.h"
#include "collect/file.h"
#include "collect/scan.h"
#include "collect/series.h"
#include "collect/world.h"
#include "model/tables.h"

namespace firstwait {

// What a source gave this time.
enum class Presence : uint8_t {
  present,
  idle,    // there is nothing to read at the moment, such as no job: looked at again next time
  absent,  // this machine does not have it: no error
  denied,  // it is there and may not be read
  broken   // it is there and not what it should be
};
constexpr std::string_view name(Presence p) {
  return p == Presence::present  ? "present"
         : p == Presence::idle   ? "idle"
         : p == Presence::absent ? "absent"
         : p == Presence::denied ? "denied"
                                 : "broken";
}
// ENOENT and its like are absent, EACCES and EPERM denied, the rest broken.
Presence presence_of(int error);

// Where the samplers' threads meet: the table and what else was observed. All members hold the lock
// while they work.
class Store {
 public:
  explicit Store(SeriesTable::Limits limits) : table_(limits) {}
  template <typename F>
  auto with(F f) {
    const std::lock_guard lock(mutex_);
    return f(table_);
  }
  void add(Event event);
  // A setting that is already known with this value is left out; another value for the same key is
  // a change.
  void add(Setting setting);
  void add(Entity entity);  // replaces what was known of the same id
  // All relations that hold now according to `source`; those it named before and no longer names
  // have ended.
  void relate(std::string_view source, std::vector<Relation> now_true, Ns now);
  std::vector<Event> events();
  std::vector<Setting> settings();
  std::vector<Entity> entities();
  std::vector<Relation> relations();
  uint64_t events_dropped();

 private:
  static constexpr size_t kEvents = 4096, kSettings = 8192, kEntities = 8192, kRelations = 8192;
  std::mutex mutex_;
  SeriesTable table_;
  std::vector<Event> events_;  // the newest kEvents
  std::vector<Setting> settings_;
  std::map<std::pair<std::string, std::string>, std::string> newest_;
  std::map<std::string, Entity> entities_;
  std::vector<Relation> relations_;
  uint64_t events_dropped_ = 0;
};

// What one sampling writes. Used by one thread; ids stay valid over samplings.
class Out {
 public:
  Out(Store& store, uint32_t source) : store_(store), source_(source) {}

  SeriesId series(const Metric& metric, std::initializer_list<Label> labels = {},
                  std::string_view star = {}) {
    return series(metric, std::span<const Label>(labels.begin(), labels.size()), star);
  }
  SeriesId series(const Metric& metric, std::span<const Label> labels, std::string_view star = {});
  void release(SeriesId id);
  void put(SeriesId id, int64_t raw) {
    if (id != kNoSeries) samples_.push_back({id, raw});
  }
  // For series that are written once in a while: interns and puts.
  void put(const Metric& metric, std::initializer_list<Label> labels, int64_t raw) {
    put(series(metric, labels), raw);
  }
  void add(Event event) { store_.add(std::move(event)); }
  void add(Setting setting) { store_.add(std::move(setting)); }
  void add(Entity entity) { store_.add(std::move(entity)); }
  void relate(std::string_view source, std::vector<Relation> now_true) {
    store_.relate(source, std::move(now_true), now_);
  }
  // A part that could not be understood: `where` says which file, line or field.
  void trouble(std::string_view where);

  // Reads into this object's buffer: valid until the next read.
  std::optional<std::string_view> read(File& file) { return file.read(buffer_); }
  // A file that holds one integer.
  bool read_number(File& file, int64_t& out);

  Ns now() const { return now_; }
  // Used by the sampler: begins a sampling, and hands its samples over as one.
  void begin(Ns now);
  size_t commit();
  uint64_t troubles() const { return troubles_; }
  const std::string& last_trouble() const { return last_trouble_; }

 private:
  Store& store_;
  uint32_t source_;
  Ns now_ = 0;
  std::string buffer_;
  std::vector<RawSample> samples_;
  uint64_t troubles_ = 0;
  std::string last_trouble_;
};

class Sampling {
 public:
  virtual ~Sampling() = default;
  virtual Presence sample(Out& out) = 0;
};

struct Collector {
  std::string_view name;  // "diskstats"
  std::string_view what;  // one line
  std::span<const Metric> metrics;
  std::string_view reads;  // the files and interfaces
  std::string_view needs;  // privileges, kernel options, drivers; empty: nothing
  Ns period = 1'000'000'000;
  bool may_hang = false;  // gets a thread of its own
  std::unique_ptr<Sampling> (*make)(const World& world);
};

std::span<const Registered<Collector>> collectors();

// Values remembered under a key that comes at the same place in each sampling: the common case is
// one comparison.
template <typename T>
class ByPosition {
 public:
  void begin() {
    next_ = 0;
    ++round_;
  }
  // `make(key)` is called for a key that was not there before. Null beyond `kLimit` keys.
  template <typename F>
  T* get(std::string_view key, F make) {
    if (next_ < entries_.size() && entries_[next_].key == key) {
      Entry& e = entries_[next_++];
      e.round = round_;
      return &e.value;
    }
    for (size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].key == key) {
        next_ = i + 1;
        entries_[i].round = round_;
        return &entries_[i].value;
      }
    if (entries_.size() >= kLimit) return nullptr;
    entries_.push_back({std::string(key), make(key), round_});
    next_ = entries_.size();
    return &entries_.back().value;
  }
  // Forgets what did not come this time; `f(value)` for each.
  template <typename F>
  void sweep(F f) {
    bool any = false;
    for (Entry& e : entries_)
      if (e.round != round_) {
        f(e.value);
        any = true;
      }
    if (any) std::erase_if(entries_, [&](const Entry& e) { return e.round != round_; });
  }
  size_t size() const { return entries_.size(); }
  template <typename F>
  void each(F f) {
    for (Entry& e : entries_) f(std::string_view(e.key), e.value);
  }

 private:
  static constexpr size_t kLimit = 8192;
  struct Entry {
    std::string key;
    T value;
    uint64_t round;
  };
  std::vector<Entry> entries_;
  size_t next_ = 0;
  uint64_t round_ = 0;
};

// A row of N series for each key (a core, a device): made when the key appears, released when it is
// gone.
template <size_t N>
class KeyedSeries {
 public:
  KeyedSeries(const Metric (&metrics)[N], std::string_view label)
      : metrics_(metrics), label_(label) {}
  void begin() { rows_.begin(); }
  void put(Out& out, std::string_view key, const int64_t (&values)[N]) {
    const Row* row = rows_.get(key, [&](std::string_view k) {
      Row fresh{};
      for (size_t i = 0; i < N; ++i) fresh.ids[i] = out.series(metrics_[i], {{label_, k}});
      return fresh;
    });
    for (size_t i = 0; row != nullptr && i < N; ++i) out.put(row->ids[i], values[i]);
  }
  void end(Out& out) {
    rows_.sweep([&](const Row& row) {
      for (const SeriesId id : row.ids) out.release(id);
    });
  }

 private:
  struct Row {
    SeriesId ids[N];
  };
  std::span<const Metric, N> metrics_;
  std::string_view label_;
  ByPosition<Row> rows_;
};

}  // namespace firstwait
