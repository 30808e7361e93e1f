#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "explain/action_table.h"
#include "explain/hypothesis.h"

namespace firstwait {
namespace {

std::set<std::string_view> action_ids() {
  std::set<std::string_view> ids;
  for (const auto& table : actions())
    for (const auto& row : table.module->rows) ids.insert(row.id);
  return ids;
}

TEST(Actions, IdsAreUniqueAndNameTheirKind) {
  size_t rows = 0;
  for (const auto& table : actions()) {
    EXPECT_EQ(table.file, table.module->family);
    rows += table.module->rows.size();
    for (const auto& row : table.module->rows) {
      EXPECT_NE(row.id.find('.'), std::string_view::npos) << row.id;
      EXPECT_FALSE(row.text.empty()) << row.id;
      EXPECT_FALSE(row.text.ends_with('.')) << row.id;
      EXPECT_FALSE(row.cures.empty()) << row.id;
    }
  }
  EXPECT_EQ(action_ids().size(), rows);
}

TEST(Actions, TheDocumentedIdsArePresent) {
  const auto ids = action_ids();
  for (const auto id : {"loader.more_workers",
                        "loader.persistent_workers",
                        "loader.pin_memory",
                        "loader.prefetch",
                        "data.local_nvme",
                        "data.preload_ram",
                        "data.memory_map",
                        "data.precache",
                        "data.shard",
                        "data.pack_small_files",
                        "data.faster_filesystem",
                        "preprocess.offline",
                        "preprocess.simplify",
                        "preprocess.on_gpu",
                        "batch.increase",
                        "batch.accumulate",
                        "precision.amp",
                        "comm.compress",
                        "comm.overlap",
                        "comm.fix_transport",
                        "comm.async",
                        "placement.same_switch",
                        "placement.rebind_nic",
                        "node.drain",
                        "node.match_config",
                        "cpu.widen_affinity",
                        "cpu.raise_quota",
                        "threads.limit",
                        "numa.bind",
                        "checkpoint.async",
                        "checkpoint.interval",
                        "checkpoint.local_then_copy",
                        "gc.manual",
                        "host.remove_sync",
                        "log.reduce",
                        "eval.less_often",
                        "gpu.cooling",
                        "gpu.raise_power_limit",
                        "gpu.unlock_clocks",
                        "gpu.replace",
                        "gpu.evict_neighbour",
                        "schedule.separate",
                        "schedule.limit_neighbour",
                        "capacity.add",
                        "telemetry.repair"})
    EXPECT_TRUE(ids.contains(id)) << id;
}

TEST(Actions, ThoseThatMayChangeResultsSaySo) {
  for (const auto& table : actions())
    for (const auto& row : table.module->rows)
      if (row.id.starts_with("batch.") || row.id.starts_with("precision.") ||
          row.id == "comm.compress" || row.id == "comm.async" || row.id == "preprocess.on_gpu" ||
          row.id.starts_with("checkpoint.")) {
        EXPECT_FALSE(row.caution.empty()) << row.id;
      }
}

TEST(Actions, BatchAndPrecisionCureNoInputWait) {
  for (const auto& table : actions())
    for (const auto& row : table.module->rows)
      if (row.id.starts_with("batch.") || row.id.starts_with("precision.")) {
        for (const auto cause : row.cures)
          EXPECT_FALSE(cause.starts_with("input.") || cause.starts_with("storage.")) << row.id;
      }
}

TEST(Actions, EverySuspectStepHasOne) {
  std::set<std::string_view> cured;
  for (const auto& table : actions())
    for (const auto& row : table.module->rows) cured.insert(row.cures.begin(), row.cures.end());
  for (const auto& h : hypotheses())
    if (h.module->id != "workload.compile_warmup") {
      EXPECT_TRUE(cured.contains(h.module->id)) << h.module->id;
    }
}

}  // namespace
}  // namespace firstwait
