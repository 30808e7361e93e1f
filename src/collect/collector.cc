#include "collect/collector.h"

#include <algorithm>
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

void Store::add(Entity entity) {
  const std::lock_guard lock(mutex_);
  if (entities_.size() < kEntities || entities_.contains(entity.id))
    entities_[entity.id] = std::move(entity);
}

void Store::relate(std::string_view source, std::vector<Relation> now_true, Ns now) {
  const std::lock_guard lock(mutex_);
  const auto same = [](const Relation& a, const Relation& b) {
    return a.from == b.from && a.kind == b.kind && a.to == b.to;
  };
  for (Relation& r : relations_) {
    if (r.source != source || r.valid_to != kNoTime) continue;
    const auto still = std::find_if(now_true.begin(), now_true.end(),
                                    [&](const Relation& n) { return same(r, n); });
    if (still == now_true.end())
      r.valid_to = now;
    else
      now_true.erase(still);
  }
  for (Relation& n : now_true) {
    if (relations_.size() >= kRelations) break;
    n.source = source;
    n.valid_from = now;
    n.valid_to = kNoTime;
    relations_.push_back(std::move(n));
  }
}

std::vector<Entity> Store::entities() {
  const std::lock_guard lock(mutex_);
  std::vector<Entity> out;
  for (const auto& [id, e] : entities_) out.push_back(e);
  return out;
}
std::vector<Relation> Store::relations() {
  const std::lock_guard lock(mutex_);
  return relations_;
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
