// For tests only: trees of files that stand for /proc and /sys, and one sampling of a collector on
// them.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/testing/test_data.h"
#include "collect/sampler.h"

namespace firstwait {

class Tree {
 public:
  Tree();
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::string& path() const { return path_; }
  Tree& file(const std::string& name, std::string_view content);
  Tree& link(const std::string& name, const std::string& target);
  void remove(const std::string& name) { std::filesystem::remove_all(path_ + "/" + name); }

 private:
  std::string path_;
};

// Unpacks the plain-text archives that procfs and node_exporter keep their trees in.
bool unpack_ttar(const std::string& archive, const std::string& into);

// One or more samplings of one collector on a tree: "name{labels}" → value.
class Bench {
 public:
  Bench(const Collector& collector, World world);
  Bench(const Collector& collector, const Tree& tree)
      : Bench(collector, World{Root::at(tree.path()), "node01"}) {}

  std::map<std::string, double> sample();
  CollectorState state() const { return sampler_->states().at(0); }
  Presence presence() const { return state().presence; }
  Sampler& sampler() { return *sampler_; }

 private:
  Registered<Collector> module_;
  std::unique_ptr<Sampler> sampler_;
};

// What a collector must do whatever a file holds: survive it.
void expect_survives_damage(const Collector& collector, const std::string& file,
                            const std::string& good);

}  // namespace firstwait
