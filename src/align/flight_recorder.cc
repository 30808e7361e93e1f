#include "align/flight_recorder.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace firstwait {
namespace {

// How far one member came in one group.
struct Progress {
  int64_t enqueued = -1, completed = -1;
};

// A collective that stands still because some member never enqueued it.
struct Candidate {
  int32_t group = -1;
  int64_t seq = -1;
  std::vector<int32_t> missing, present, no_data;
  std::map<int32_t, size_t> place;  // present rank -> where it stands in the rank's own order
  Ns created = INT64_MAX;           // earliest among the present ranks
  size_t row = 0;                   // the record that describes it, of the lowest present rank
  bool is_root = true;
};

bool holds(const std::vector<int32_t>& ranks, int32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

class Matcher {
 public:
  explicit Matcher(Evidence& e) : e_(e), recorded_(e.flight_ranks.begin(), e.flight_ranks.end()) {
    for (size_t i = 0; i < e.flight.size(); ++i) {
      if (e.flight.p2p[i] != 0)
        with_p2p_.insert(e.flight.group[i]);
      else
        rows_[e.flight.group[i]].push_back(i);
    }
    for (size_t i = 0; i < e.flight.size(); ++i) {
      if (e.flight.p2p[i] != 0) continue;
      Progress& p = progress_[{e.flight.group[i], e.flight.rank[i]}];
      p.enqueued = std::max(p.enqueued, e.flight.seq[i]);
      if (e.flight.completed[i] != 0) p.completed = std::max(p.completed, e.flight.seq[i]);
    }
    for (const auto& s : e.flight_status) {
      // In groups that also send point to point the recorder's counters count those.
      if (with_p2p_.contains(s.group)) continue;
      Progress& p = progress_[{s.group, s.rank}];
      p.enqueued = std::max(p.enqueued, s.last_enqueued);
      p.completed = std::max(p.completed, s.last_completed);
    }
  }

  void run() {
    for (const auto& [group, rows] : rows_) find(group, rows);
    find_roots();
    for (const Candidate& c : candidates_)
      if (c.is_root) report(c);
  }

 private:
  std::vector<int32_t> members(int32_t group) const {
    const auto& named = e_.flight_groups[static_cast<size_t>(group)].members;
    if (!named.empty()) return named;
    // Without a list of members only those that were seen are known.
    std::vector<int32_t> seen;
    for (const auto& [at, p] : progress_)
      if (at.first == group) seen.push_back(at.second);
    return seen;
  }

  void find(int32_t group, const std::vector<size_t>& rows) {
    const std::vector<int32_t> all = members(group);
    if (all.size() < 2) return;
    int64_t least = INT64_MAX, completed = -1;
    bool lacks_data = false;
    for (const int32_t rank : all) {
      if (!recorded_.contains(rank)) {
        lacks_data = true;
        continue;
      }
      const auto at = progress_.find({group, rank});
      least = std::min(least, at == progress_.end() ? -1 : at->second.enqueued);
      if (at != progress_.end()) completed = std::max(completed, at->second.completed);
    }
    // The first collective behind the slowest member that somebody waits in.
    size_t first = rows.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t row = rows[i];
      if (e_.flight.completed[row] != 0) continue;
      const bool unreached = e_.flight.seq[row] > least;
      // What one member completed, all members had reached, also those without a record.
      const bool unknown = lacks_data && e_.flight.seq[row] > completed;
      if (!unreached && !unknown) continue;
      if (first == rows.size() || e_.flight.seq[row] < e_.flight.seq[rows[first]]) first = i;
    }
    if (first == rows.size()) return;
    Candidate c;
    c.group = group;
    c.seq = e_.flight.seq[rows[first]];
    for (const int32_t rank : all) {
      if (!recorded_.contains(rank)) {
        c.no_data.push_back(rank);
        continue;
      }
      const auto at = progress_.find({group, rank});
      (at != progress_.end() && at->second.enqueued >= c.seq ? c.present : c.missing)
          .push_back(rank);
    }
    int32_t lowest = INT32_MAX;
    for (const size_t row : rows) {
      if (e_.flight.seq[row] != c.seq) continue;
      c.place[e_.flight.rank[row]] = row;
      if (e_.flight.created[row] != kNoTime)
        c.created = std::min(c.created, e_.flight.created[row]);
      if (e_.flight.rank[row] < lowest) {
        lowest = e_.flight.rank[row];
        c.row = row;
      }
    }
    candidates_.push_back(std::move(c));
  }

  // True when `a` was enqueued before `b`: in the order of a rank that recorded both, else by the
  // clocks.
  static bool before(const Candidate& a, const Candidate& b) {
    for (const auto& [rank, place] : a.place)
      if (const auto other = b.place.find(rank); other != b.place.end())
        return place < other->second;
    return std::tuple(a.created, a.group) < std::tuple(b.created, b.group);
  }

  // Why `rank` did not come to `c`: it stopped before something earlier, or it waits in another
  // collective itself.
  bool explained(int32_t rank, const Candidate& c) const {
    for (const Candidate& other : candidates_) {
      if (&other == &c || other.missing.empty()) continue;
      if (holds(other.missing, rank) && before(other, c)) return true;
      if (holds(other.present, rank) && !holds(c.missing, other.missing.front()) &&
          waits(rank, other))
        return true;
    }
    return false;
  }
  bool waits(int32_t rank, const Candidate& c) const {
    const auto at = c.place.find(rank);
    return at != c.place.end() && e_.flight.completed[at->second] == 0;
  }

  void find_roots() {
    const bool any_missing = std::any_of(candidates_.begin(), candidates_.end(),
                                         [](const Candidate& c) { return !c.missing.empty(); });
    for (Candidate& c : candidates_) {
      if (c.missing.empty()) {
        // Nobody is known to be missing: this says something only when nothing better does, once,
        // at the start.
        c.is_root = !any_missing &&
                    std::none_of(candidates_.begin(), candidates_.end(),
                                 [&](const Candidate& o) { return &o != &c && before(o, c); });
      } else {
        c.is_root = !std::all_of(c.missing.begin(), c.missing.end(),
                                 [&](int32_t r) { return explained(r, c); });
      }
    }
    if (candidates_.empty() || std::any_of(candidates_.begin(), candidates_.end(),
                                           [](const Candidate& c) { return c.is_root; }))
      return;
    // Ranks that wait for each other in a circle: the earliest collective is where it closed.
    std::min_element(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::tuple(a.missing.empty(), a.created, a.group) <
                              std::tuple(b.missing.empty(), b.created, b.group);
                     })
        ->is_root = true;
  }

  void report(const Candidate& c) {
    const FlightGroup& group = e_.flight_groups[static_cast<size_t>(c.group)];
    MissingRanks m;
    m.group = group.name;
    m.group_name = group.description;
    m.op = e_.names[e_.flight.op[c.row]];
    m.size = e_.names[e_.flight.shape[c.row]];
    m.dtype = e_.names[e_.flight.dtype[c.row]];
    m.seq = c.seq;
    m.missing = c.missing;
    m.present = c.present;
    m.no_data = c.no_data;
    m.device_behind = device_behind(c);
    m.consequences = std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& o) {
      return !o.is_root && !o.missing.empty();
    });
    e_.missing_ranks.push_back(std::move(m));
  }

  std::vector<int32_t> device_behind(const Candidate& c) const {
    int64_t furthest = -1;
    std::map<int32_t, int64_t> completed;
    for (const auto& [at, p] : progress_) {
      if (at.first != c.group || p.completed < 0) continue;
      completed[at.second] = p.completed;
      furthest = std::max(furthest, p.completed);
    }
    std::vector<int32_t> behind;
    for (const auto& [rank, seq] : completed)
      if (seq < furthest) behind.push_back(rank);
    return behind;
  }

  Evidence& e_;
  std::set<int32_t> recorded_, with_p2p_;
  std::map<int32_t, std::vector<size_t>> rows_;               // group -> its collectives' rows
  std::map<std::pair<int32_t, int32_t>, Progress> progress_;  // (group, rank)
  std::vector<Candidate> candidates_;
};

}  // namespace

void match_flight_records(Evidence& evidence) {
  if (evidence.flight_ranks.empty()) return;
  Matcher(evidence).run();
}

}  // namespace firstwait
