#include "collect/collector.h"

#include <cerrno>

namespace firstwait {

Presence presence_of(int error) {
  switch (error) {
    case 0:
      return Presence::present;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENOTDIR:
    case EOPNOTSUPP:
    case ESRCH:
      return Presence::absent;
    case EACCES:
    case EPERM:
      return Presence::denied;
    default:
      return Presence::broken;
  }
}

void Store::add(Event event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() >= kEvents) {
    events_.erase(events_.begin(), events_.begin() + kEvents / 8);
    events_dropped_ += kEvents / 8;
  }
  events_.push_back(std::move(event));
}

void Store::add(Setting setting) {
  const std::lock_guard lock(mutex_);
  auto [at, fresh] = newest_.try_emplace({setting.entity, setting.key}, setting.value);
  if (!fresh && at->second == setting.value) return;
  if (settings_.size() >= kSettings) return;
  at->second = setting.value;
  settings_.push_back(std::move(setting));
}

std::vector<Event> Store::events() {
  const std::lock_guard lock(mutex_);
  return events_;
}
std::vector<Setting> Store::settings() {
  const std::lock_guard lock(mutex_);
  return settings_;
}
uint64_t Store::events_dropped() {
  const std::lock_guard lock(mutex_);
  return events_dropped_;
}

SeriesId Out::series(const Metric& metric, std::span<const Label> labels, std::string_view star) {
  return store_.with([&](SeriesTable& t) { return t.intern(source_, metric, star, labels); });
}

void Out::release(SeriesId id) {
  store_.with([&](SeriesTable& t) { t.release(id); });
}

void Out::trouble(std::string_view where) {
  ++troubles_;
  last_trouble_ = where;
}

bool Out::read_number(File& file, int64_t& out) {
  const auto text = read(file);
  if (!text) return false;
  if (whole_number(*text, out)) return true;
  trouble(file.path());
  return false;
}

void Out::begin(Ns now) {
  now_ = now;
  samples_.clear();
}

size_t Out::commit() {
  store_.with([&](SeriesTable& t) { t.commit(source_, now_, samples_); });
  return samples_.size();
}

}  // namespace firstwait
