// For tests only: trees of files that stand for /proc and /sys, and one sampling of a collector on
// them.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/test_data.h"
#include "collect/sampler.h"

namespace firstwait {

class Tree {
 public:
  Tree() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "firstwait-tree-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::string& path() const { return path_; }
  Tree& file(const std::string& name, std::string_view content) {
    const std::filesystem::path p = path_ + "/" + name;
    std::filesystem::create_directories(p.parent_path());
    std::ofstream(p, std::ios::binary) << content;
    return *this;
  }
  Tree& link(const std::string& name, const std::string& target) {
    const std::filesystem::path p = path_ + "/" + name;
    std::filesystem::create_directories(p.parent_path());
    std::filesystem::create_symlink(target, p);
    return *this;
  }
  void remove(const std::string& name) { std::filesystem::remove_all(path_ + "/" + name); }

 private:
  std::string path_;
};

// Unpacks the plain-text archives that procfs and node_exporter keep their trees in.
inline bool unpack_ttar(const std::string& archive, const std::string& into) {
  std::ifstream in(archive, std::ios::binary);
  std::string line, path;
  while (std::getline(in, line)) {
    if (line.starts_with("Directory: ")) {
      std::filesystem::create_directories(into + "/" + line.substr(11));
    } else if (line.starts_with("Path: ")) {
      path = into + "/" + line.substr(6);
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    } else if (line.starts_with("SymlinkTo: ")) {
      std::error_code ignored;
      std::filesystem::create_symlink(line.substr(11), path, ignored);
    } else if (line.starts_with("Lines: ")) {
      std::ofstream out(path, std::ios::binary);
      for (int n = std::stoi(line.substr(7)); n > 0 && std::getline(in, line); --n) {
        std::string text;
        for (size_t i = 0; i < line.size(); ++i) {
          if (line.compare(i, 8, "NULLBYTE") == 0) {
            text += '\0';
            i += 7;
          } else if (n == 1 && line.compare(i, std::string::npos, "EOF") == 0) {
            text += '\1';
            break;
          } else {
            text += line[i];
          }
        }
        if (!text.empty() && text.back() == '\1')
          out << text.substr(0, text.size() - 1);
        else
          out << text << '\n';
      }
    }
  }
  return !in.bad();
}

// One or more samplings of one collector on a tree: "name{labels}" → value.
class Bench {
 public:
  explicit Bench(const Collector& collector, World world) : module_{collector.name, &collector} {
    if (world.host.empty()) world.host = "node01";
    sampler_ = std::make_unique<Sampler>(SamplerOptions{
        .world = std::move(world), .modules = std::span<const Registered<Collector>>(&module_, 1)});
  }
  Bench(const Collector& collector, const Tree& tree)
      : Bench(collector, World{Root::at(tree.path()), "node01"}) {}

  std::map<std::string, double> sample() {
    sampler_->sample_once();
    std::map<std::string, double> out;
    sampler_->store().with([&](SeriesTable& t) {
      t.visit_latest(INT64_MIN, [&](const SeriesInfo& s, Ns, int64_t raw) {
        std::string key(s.name);
        if (!s.labels.empty()) key.append("{").append(s.labels).append("}");
        out[key] = static_cast<double>(raw) / static_cast<double>(s.metric->scale);
      });
      return 0;
    });
    return out;
  }
  CollectorState state() const { return sampler_->states().at(0); }
  Presence presence() const { return state().presence; }
  Sampler& sampler() { return *sampler_; }

 private:
  Registered<Collector> module_;
  std::unique_ptr<Sampler> sampler_;
};

// What a collector must do whatever a file holds: survive it.
inline void expect_survives_damage(const Collector& collector, const std::string& file,
                                   const std::string& good) {
  Tree tree;
  Bench bench(collector, tree);
  for (const std::string& text :
       {std::string(), std::string(1, '\0'), std::string("\n\n\n"), good.substr(0, good.size() / 2),
        good.substr(0, good.size() / 3) + "\xff\xfe" + good.substr(good.size() / 3),
        std::string(100'000, '9'), std::string(100'000, 'x'), good + good}) {
    tree.file(file, text);
    bench.sample();
  }
  std::string noise = good;
  for (size_t i = 0; i < good.size(); ++i) {
    noise[i] = static_cast<char>(good[i] ^ (1 << (i % 7)));
    if (i % 16 != 0) continue;
    tree.file(file, noise);
    bench.sample();
    noise[i] = good[i];
  }
  tree.file(file, good);
  EXPECT_FALSE(bench.sample().empty()) << "does not recover";
  tree.remove(file);
  bench.sample();
}

}  // namespace firstwait
