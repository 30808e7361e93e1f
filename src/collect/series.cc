#include "collect/series.h"

#include <algorithm>

namespace firstwait {

void append_decimal(std::string& out, int64_t raw, int64_t scale) {
  char digits[32];
  char* end = digits + sizeof digits;
  char* p = end;
  const bool negative = raw < 0;
  uint64_t value = negative ? ~static_cast<uint64_t>(raw) + 1 : static_cast<uint64_t>(raw);
  bool any = false;
  for (int64_t s = scale; s > 1; s /= 10) {
    const auto digit = static_cast<char>('0' + value % 10);
    value /= 10;
    if (digit != '0' || any) {
      *--p = digit;
      any = true;
    }
  }
  if (any) *--p = '.';
  do {
    *--p = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  if (negative) *--p = '-';
  out.append(p, end);
}

namespace {
void append_escaped(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}
}  // namespace

uint32_t SeriesTable::add_source(Ns period) {
  Source source;
  source.period = std::max<Ns>(period, 1);
  source.keep = static_cast<uint32_t>(std::clamp<Ns>(limits_.keep / source.period, 4, 1'000'000));
  // Blocks may be a quarter older than what is kept before they expire.
  source.times.resize(source.keep + source.keep / 4 + 2);
  sources_.push_back(std::move(source));
  return static_cast<uint32_t>(sources_.size() - 1);
}

SeriesId SeriesTable::intern(uint32_t source, const Metric& metric, std::string_view star,
                             std::span<const Label> labels) {
  std::string key(metric.name);
  if (const size_t at = key.find('*'); at != std::string::npos) key.replace(at, 1, star);
  const auto name_size = static_cast<uint32_t>(key.size());
  if (!labels.empty()) {
    key += '{';
    for (const Label& l : labels) {
      if (key.back() != '{') key += ',';
      key.append(l.key).append("=\"");
      append_escaped(key, l.value);
      key += '"';
    }
  }
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    series_[found->second].released = false;
    return found->second;
  }
  if (live_ >= limits_.series) reclaim();
  if (live_ >= limits_.series) {
    ++refused_;
    return kNoSeries;
  }
  SeriesId id = 0;
  if (free_.empty()) {
    id = static_cast<SeriesId>(series_.size());
    series_.emplace_back();
    kept_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Series& s = series_[id];
  s = {std::move(key), name_size, &metric, false};
  kept_[id] = {};
  kept_[id].source = source;
  kept_[id].keep = sources_[source].keep;
  by_key_.emplace(s.key, id);
  by_name_[s.key.substr(0, name_size)].push_back(id);
  ++live_;
  return id;
}

void SeriesTable::release(SeriesId id) {
  if (id >= series_.size() || series_[id].released) return;
  series_[id].released = true;
  released_.push_back(id);
}

// Frees what was released and has no samples left.
void SeriesTable::reclaim() {
  std::erase_if(released_, [&](SeriesId id) {
    Series& s = series_[id];
    if (!s.released) return true;
    const RingSeries& kept = kept_[id];
    const Source& source = sources_[kept.source];
    if (kept.oldest != UINT32_MAX && source.tick - kept.last_tick < kept.keep) return false;
    if (kept.oldest != UINT32_MAX) return false;  // its blocks wait for their turn in the ring
    by_key_.erase(s.key);
    const auto name = by_name_.find(std::string_view(s.key).substr(0, s.name_size));
    std::erase(name->second, id);
    if (name->second.empty()) by_name_.erase(name);
    s.key.clear();
    free_.push_back(id);
    --live_;
    return true;
  });
}

void SeriesTable::commit(uint32_t source_id, Ns time, std::span<const RawSample> samples) {
  Source& source = sources_[source_id];
  ++source.tick;
  source.times[source.tick % source.times.size()] = time;
  ring_.advance(source_id, source.tick);
  for (const RawSample& sample : samples)
    if (sample.series < kept_.size() && (kept_[sample.series].newest == UINT32_MAX ||
                                         kept_[sample.series].last_tick != source.tick))
      ring_.append(kept_, sample.series, source.tick, sample.value);
}

void SeriesTable::visit_latest(Ns newer_than, const LatestFn& f) const {
  for (const auto& [name, ids] : by_name_)
    for (const SeriesId id : ids) {
      const RingSeries& kept = kept_[id];
      const Source& source = sources_[kept.source];
      if (kept.newest == UINT32_MAX || kept.last_tick != source.tick) continue;
      const Ns time = source.times[source.tick % source.times.size()];
      if (time >= newer_than) f(series_[id].info(), time, kept.last_value);
    }
}

SeriesTable::Progress SeriesTable::progress() const {
  Progress out;
  for (const Source& s : sources_) out.push_back(s.tick);
  return out;
}

SeriesTable::Progress SeriesTable::next(const Progress& seen, Ns span) const {
  Progress out = progress();
  for (size_t i = 0; i < out.size(); ++i) {
    const uint32_t before = i < seen.size() ? seen[i] : 0;
    const auto most =
        static_cast<uint32_t>(std::clamp<Ns>(span / sources_[i].period, 1, UINT32_MAX));
    if (out[i] - before > most) out[i] = before + most;
  }
  return out;
}

void SeriesTable::visit(Ns from, const SampleFn& f) const {
  visit_if([from](uint32_t, uint32_t, Ns time) { return time >= from; }, f);
}

void SeriesTable::visit(const Progress& seen, const Progress& to, const SampleFn& f) const {
  const auto at = [](const Progress& p, uint32_t source) {
    return source < p.size() ? p[source] : 0;
  };
  visit_if([&](uint32_t source, uint32_t tick,
               Ns) { return tick > at(seen, source) && tick <= at(to, source); },
           f);
}

template <typename Wanted>
void SeriesTable::visit_if(Wanted wanted, const SampleFn& f) const {
  std::vector<Ns> times;
  std::vector<int64_t> values;
  for (const auto& [name, ids] : by_name_)
    for (const SeriesId id : ids) {
      times.clear();
      values.clear();
      const Source& source = sources_[kept_[id].source];
      ring_.visit(kept_[id], [&](uint32_t tick, int64_t value) {
        if (source.tick - tick >= source.times.size()) return;
        const Ns time = source.times[tick % source.times.size()];
        if (!wanted(kept_[id].source, tick, time)) return;
        times.push_back(time);
        values.push_back(value);
      });
      if (!times.empty()) f(series_[id].info(), times, values);
    }
}

}  // namespace firstwait
