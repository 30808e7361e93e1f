#include <gtest/gtest.h>

#include "import/importer.h"

namespace firstwait {

extern const Importer importer_job_meta;

namespace {

JobInfo read(std::string_view text, uint64_t* bad = nullptr) {
  Evidence out;
  const ImportOptions options;
  const auto reader = importer_job_meta.open(ImportContext{"meta.yaml", options, out});
  for (const char c : text) reader->feed({&c, 1});
  reader->finish(true);
  if (bad != nullptr) *bad = out.health.entries().size();
  return out.job;
}

TEST(JobMeta, ReadsTheParallelSizes) {
  const JobInfo job = read(
      "trial_name: AR\nrun_id: 0\ndp_size: 4\npp_size: 4\ntp_size: 4\nvpp_size: 2\nworld_size: "
      "64\n");
  EXPECT_EQ(job.id, "AR");
  EXPECT_EQ(job.dp, 4);
  EXPECT_EQ(job.pp, 4);
  EXPECT_EQ(job.tp, 4);
  EXPECT_EQ(job.vpp, 2);
  EXPECT_EQ(job.world_size, 64);
}

TEST(JobMeta, RefusesImpossibleSizes) {
  uint64_t bad = 0;
  const JobInfo job =
      read("dp_size: many\npp_size: -3\nworld_size: 99999999999999999999\ntp_size: 8", &bad);
  EXPECT_EQ(job.dp, -1);
  EXPECT_EQ(job.pp, -1);
  EXPECT_EQ(job.tp, 8);
  EXPECT_EQ(bad, 1U);
}

TEST(JobMeta, LeavesOtherFilesAlone) {
  EXPECT_GT(importer_job_meta.sniff({"trial_name: AR\ndp_size: 4\npp_size: 4\n", "x"}), 0);
  EXPECT_EQ(importer_job_meta.sniff({"job: x\nparallel: {dp: 4, pp: 4}\n", "job.yaml"}), 0);
  EXPECT_EQ(importer_job_meta.sniff({"{\"dp_size:\": 1, \"pp_size:\": 2}", "x.json"}), 0);
}

}  // namespace
}  // namespace firstwait
