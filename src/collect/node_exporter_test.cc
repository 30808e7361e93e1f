// Every metric that we share with node_exporter has the value of its own expected output, on its
// own recorded machine.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/text.h"
#include "collect/testing/bench.h"

namespace firstwait {
namespace {

// "name{b="2",a="1"}" with its labels in order.
std::string canonical(const std::string& key) {
  const size_t brace = key.find('{');
  if (brace == std::string::npos) return key;
  std::vector<std::string> labels;
  std::string label;
  bool quoted = false;
  for (size_t i = brace + 1; i + 1 < key.size(); ++i) {
    if (key[i] == '"' && key[i - 1] != '\\') quoted = !quoted;
    if (key[i] == ',' && !quoted) {
      labels.push_back(label);
      label.clear();
    } else {
      label += key[i];
    }
  }
  labels.push_back(label);
  std::sort(labels.begin(), labels.end());
  std::string out = key.substr(0, brace + 1);
  for (const auto& l : labels) out += l + ",";
  return out + "}";
}

TEST(NodeExporter, EverySharedMetricHasItsExpectedValue) {
  const auto expected_path = shared_data("node/node_exporter/e2e-output.txt");
  const auto proc = shared_data("node/node_exporter/fixtures_proc_ethtool.tar.gz");
  const auto sys = shared_data("node/node_exporter/sys.ttar");
  if (!expected_path || !proc || !sys) GTEST_SKIP() << "shared data is not here";
  Tree tree;
  ASSERT_EQ(std::system(("tar xzf '" + *proc + "' -C " + tree.path()).c_str()), 0);
  ASSERT_TRUE(unpack_ttar(*sys, tree.path()));
  // The archive holds the link as a file.
  std::filesystem::remove(tree.path() + "/proc/self");
  std::filesystem::create_symlink("10", tree.path() + "/proc/self");

  std::map<std::string, double> expected;
  std::ifstream in(*expected_path);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.rfind(' ');
    if (line.starts_with("#") || space == std::string::npos) continue;
    std::string key = line.substr(0, space);
    if (const size_t at = key.find("collector/fixtures/sys"); at != std::string::npos)
      key.replace(at, 22, tree.path() + "/sys");
    expected[canonical(key)] = parse_double(line.substr(space + 1)).value_or(NAN);
  }
  ASSERT_GT(expected.size(), 2000u);
  std::set<std::string> names;
  for (const auto& [key, value] : expected) names.insert(key.substr(0, key.find('{')));

  // node_exporter's own run leaves these interfaces out.
  const auto left_out = [](const std::string& key) {
    return key.starts_with("node_network_") &&
           (contains(key, "device=\"dmz\"") || contains(key, "device=\"int\""));
  };
  std::map<std::string, double> got;
  for (const auto& module : collectors()) {
    if (module.module->name == "filesystem") continue;  // node_exporter's own run leaves it out
    for (const auto& [key, value] :
         Bench(*module.module, World{Root::at(tree.path()), "node01"}).sample())
      got[canonical(key)] = value;
  }
  size_t compared = 0;
  std::set<std::string> shared;
  for (const auto& [key, value] : got) {
    const std::string name = key.substr(0, key.find('{'));
    if (!names.contains(name) || left_out(key)) continue;
    shared.insert(name);
    const auto want = expected.find(key);
    if (want == expected.end()) {
      ADD_FAILURE() << key << " " << value << " is not in node_exporter's output";
      continue;
    }
    ++compared;
    EXPECT_NEAR(value, want->second, std::fabs(want->second) * 1e-12) << key;
  }
  for (const auto& [key, value] : expected)
    // One operation's queue time stands in the file as nearly 2^64 ms (a negative time of the
    // kernel): absent here, there whatever is left after an overflow.
    if (shared.contains(key.substr(0, key.find('{'))) && !got.contains(key) &&
        !(contains(key, "_queue_time_") && value > 1e12))
      ADD_FAILURE() << key << " " << value << " is missing";
  RecordProperty("compared", static_cast<int>(compared));
  std::printf("compared %zu values of %zu metrics\n", compared, shared.size());
  EXPECT_GT(shared.size(), 100u);
}

}  // namespace
}  // namespace firstwait
