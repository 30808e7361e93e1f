#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_job;
namespace {

TEST(Job, NamesLayoutAndPlacementAreRead) {
  const Evidence e = import_text(importer_job, R"(job: resnet-17
project: vision
owner: team-a
framework: pytorch
world_size: 8
parallel: {dp: 4, tp: 1, pp: 2}
ranks:
  - {rank: 0, host: node01, gpu: 3, local_rank: 0, stage: 0}
  - {rank: 5, host: node02, gpu: "node02:1", stage: 1}
  - {host: nowhere}
)",
                                 3);
  EXPECT_EQ(e.job.id, "resnet-17");
  EXPECT_EQ(e.job.project, "vision");
  EXPECT_EQ(e.job.owner, "team-a");
  EXPECT_EQ(e.job.framework, "pytorch");
  EXPECT_EQ(e.job.world_size, 8);
  EXPECT_EQ(e.job.dp, 4);
  EXPECT_EQ(e.job.pp, 2);
  EXPECT_EQ(e.job.ep, -1);
  ASSERT_EQ(e.ranks.size(), 2U);
  EXPECT_EQ(e.ranks.at(0).gpu, "node01:3");
  EXPECT_EQ(e.ranks.at(5).gpu, "node02:1");
  EXPECT_EQ(e.ranks.at(5).stage, 1);
  EXPECT_EQ(health_count(e, "bad_rank"), 1U);
  EXPECT_EQ(e.relations.front().from, "rank/0");
  EXPECT_EQ(e.relations.front().to, "host/node01");
}

TEST(Job, DamagedYamlIsNamedAndNeverThrows) {
  for (const std::string& text :
       {std::string("job: [unclosed"), std::string("job: a\n\tworld_size: : :"),
        std::string("- 1\n- 2"), std::string("job: &a [*a]"), std::string(100'000, '['),
        std::string(100'000, '-'), "job: " + std::string(5000, '{')}) {
    const Evidence e = import_text(importer_job, text);
    EXPECT_TRUE(e.ranks.empty());
  }
  EXPECT_EQ(health_count(import_text(importer_job, std::string(100'000, '[')), "bad_yaml"), 1U);
}

TEST(Job, ASecondFileThatSaysOtherwiseIsToldWithTheFirstDifference) {
  Evidence e;
  const ImportOptions options;
  const auto read = [&](const std::string& path, std::string_view text) {
    const auto reader = importer_job.open(ImportContext{path, options, e, path});
    reader->feed(text);
    reader->finish(true);
  };
  read("a/job.yaml", "job: j\nworld_size: 4\nranks: [{rank: 0, host: a0}]\n");
  read("a/again.yaml", "job: j\nworld_size: 4\nranks: [{rank: 0, host: a0}]\n");
  EXPECT_EQ(health_count(e, "jobs_disagree"), 0U);
  read("b/job.yaml", "job: j\nworld_size: 9\nranks: [{rank: 0, host: b0}]\n");
  EXPECT_EQ(health_count(e, "jobs_disagree"), 2U);
  EXPECT_EQ(e.health.entries().front().source, "b/job.yaml");
  EXPECT_EQ(e.health.entries().front().first_place, "world_size: 9, before 4");
  EXPECT_EQ(e.job.world_size, 9);
}

}  // namespace
}  // namespace firstwait
