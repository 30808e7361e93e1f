#include "base/testing/test_data.h"
#include "import/import_testing.h"

namespace firstwait {
extern const Importer importer_openmetrics;
namespace {

const Series* series(const Evidence& e, std::string_view metric, std::string_view entity) {
  for (const auto& s : e.series)
    if (e.names[s.metric] == metric && e.names[s.entity] == entity) return &s;
  return nullptr;
}

TEST(OpenMetrics, SecondsMillisecondsAndNanosecondsAreToldApart) {
  const Evidence e = import_text(importer_openmetrics, R"(# TYPE node_load1 gauge
# UNIT node_load1 x
node_load1{instance="node07:9100"} 1.5 1764500000.25
node_load1{instance="node07:9100"} +2 1764500001250
node_load1{instance="node07:9100"} 3e0 1764500002250000000
node_load1{instance="node07:9100"} 4 1764500003 # {trace_id="a b"} 0.5 1.5
# EOF
)",
                                 9);
  const Series* s = series(e, "node_load1", "host/node07");
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->time, (std::vector<Ns>{1764500000250000000, 1764500001250000000, 1764500002250000000,
                                      1764500003000000000}));
  EXPECT_EQ(s->value, (std::vector<double>{1.5, 2, 3, 4}));
  EXPECT_TRUE(e.health.entries().empty());
}

TEST(OpenMetrics, LabelsNameTheEntity) {
  const Evidence e = import_text(importer_openmetrics, R"(# TYPE x gauge
DCGM_FI_DEV_GPU_UTIL{gpu="2",UUID="GPU-1",Hostname="node01",instance="10.0.0.1:9400"} 95 1764500000
node_network_receive_bytes_total{device="eth0",instance="node01:9100"} 7 1764500000
node_infiniband_rate_bytes_per_second{device="mlx5_0",port="1",instance="node01"} 7 1764500000
node_mountstats_nfs_read_bytes_total{export="nfs01:/data",instance="node01"} 7 1764500000
firstwait_process_threads{rank="3",role="loader",instance="node01"} 7 1764500000
firstwait_cgroup_cpu_quota_cores{rank="3",cgroup="/job",instance="node01"} 0.2 1764500000
firstwait_cgroup_memory_limit_bytes{cgroup="/job",instance="node01"} 4096 1764500000
odd{path="a\\b\"c}\n",instance="node01"} 7 1764500000
firstwait_rank_info{train_job="j",rank="3",instance="node01:1",gpu="2",owner="o"} 1 1764500000
)");
  EXPECT_NE(series(e, "DCGM_FI_DEV_GPU_UTIL", "gpu/node01:2"), nullptr);
  EXPECT_NE(series(e, "node_network_receive_bytes_total", "nic/node01:eth0"), nullptr);
  EXPECT_NE(series(e, "node_infiniband_rate_bytes_per_second", "nic/node01:mlx5_0"), nullptr);
  EXPECT_NE(series(e, "node_mountstats_nfs_read_bytes_total", "mount/node01:nfs01:/data"), nullptr);
  EXPECT_NE(series(e, "firstwait_process_threads", "rank/3"), nullptr);
  EXPECT_NE(series(e, "firstwait_cgroup_cpu_quota_cores", "rank/3"), nullptr);
  EXPECT_NE(series(e, "firstwait_cgroup_memory_limit_bytes", "host/node01"), nullptr);
  const Series* odd = series(e, "odd", "host/node01");
  ASSERT_NE(odd, nullptr);
  EXPECT_EQ(e.names[odd->label(e.names.find("path"))], "a\\b\"c}\n");
  EXPECT_EQ(e.ranks.at(3).gpu, "node01:2");
  EXPECT_EQ(e.job.id, "j");
  EXPECT_EQ(e.job.owner, "o");
}

TEST(OpenMetrics, BlanksNaNAndBrokenLinesAreCounted) {
  const Evidence e = import_text(importer_openmetrics, R"(# TYPE x gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",instance="a"} 9223372036854775794 1764500000
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0",instance="a"} 4 1764500000
x{instance="a"} NaN 1764500000
x{instance="a"} +Inf 1764500000
x{instance="a" 1 1764500000
x{instance="a"} 1 99999999999999999999
x{instance=a} 1
{} 1
)");
  EXPECT_EQ(health_count(e, "dcgm_blank"), 1U);
  EXPECT_EQ(health_count(e, "not_a_number"), 2U);
  EXPECT_EQ(health_count(e, "bad_line"), 4U);
  EXPECT_NE(series(e, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gpu/a:0"), nullptr);
}

TEST(OpenMetrics, ARealScrapeWithoutTimesIsOneScrapeAtTheFilesTime) {
  const auto path = shared_data("node/node_exporter/e2e-output.txt");
  if (!path) GTEST_SKIP() << "shared data is absent";
  const std::string text = read_whole(*path);
  EXPECT_EQ(recognised_as(text), "openmetrics");
  const Evidence e = import_text(importer_openmetrics, text, 0, *path);
  EXPECT_EQ(health_count(e, "bad_line"), 0U);
  const Series* requests = series(e, "node_mountstats_nfs_operations_requests_total",
                                  "mount/e2e-output:192.168.1.1:/srv/test");
  ASSERT_NE(requests, nullptr);
  EXPECT_EQ(requests->value, std::vector<double>{2.927395007e+09});
  EXPECT_GT(requests->time[0], Ns{1'000'000'000'000'000'000});
  size_t lines = 0, samples = 0;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines += !line.empty() && line[0] != '#' ? 1 : 0;
  for (const auto& s : e.series) samples += s.time.size();
  EXPECT_EQ(samples + health_count(e, "not_a_number"), lines);
}

}  // namespace
}  // namespace firstwait
