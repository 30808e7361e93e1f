// All that was read, in memory. Importers append; align puts it in order; later stages only read.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/health.h"
#include "model/names.h"
#include "model/tables.h"

namespace firstwait {

// One input file and what came out of it, for "what was read".
struct Source {
  std::string path, importer;
  uint64_t rows = 0, bytes = 0;  // bytes after decompression
  std::string note;              // "8 ranks, 65,554 steps"; may be empty
};

struct Evidence {
  Names names;
  JobInfo job;
  std::map<int32_t, RankInfo> ranks;
  std::set<int32_t> trace_ranks;  // ranks of which a profiler trace was read
  StepTable steps;
  SpanTable spans;
  CollectiveTable collectives;
  OpTable ops;
  std::vector<Series> series;
  std::vector<Event> events;
  std::vector<Setting> settings;
  std::vector<Entity> entities;
  std::vector<Relation> relations;
  std::vector<MissingRanks> missing_ranks;
  FlightTable flight;
  std::vector<FlightGroup> flight_groups;
  std::vector<FlightStatus> flight_status;
  std::vector<int32_t> flight_ranks;  // ranks of which a flight record was read
  std::vector<Source> sources;
  std::map<std::string, std::string>
      notes;  // path of an input: what its importer says of it, for Source::note
  Health health;

  RankInfo& rank(int32_t r) {
    auto& info = ranks[r];
    info.rank = r;
    return info;
  }
};

}  // namespace firstwait
