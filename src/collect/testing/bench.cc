#include "collect/testing/bench.h"

#include <cstdlib>
#include <fstream>

namespace firstwait {

Tree::Tree() {
  std::string pattern = (std::filesystem::temp_directory_path() / "firstwait-tree-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}
Tree::~Tree() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Tree& Tree::file(const std::string& name, std::string_view content) {
  const std::filesystem::path p = path_ + "/" + name;
  std::filesystem::create_directories(p.parent_path());
  std::ofstream(p, std::ios::binary) << content;
  return *this;
}
Tree& Tree::link(const std::string& name, const std::string& target) {
  const std::filesystem::path p = path_ + "/" + name;
  std::filesystem::create_directories(p.parent_path());
  std::filesystem::create_symlink(target, p);
  return *this;
}

Bench::Bench(const Collector& collector, World world) : module_{collector.name, &collector} {
  if (world.host.empty()) world.host = "node01";
  sampler_ = std::make_unique<Sampler>(SamplerOptions{
      .world = std::move(world), .modules = std::span<const Registered<Collector>>(&module_, 1)});
}

std::map<std::string, double> Bench::sample() {
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

bool unpack_ttar(const std::string& archive, const std::string& into) {
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

void expect_survives_damage(const Collector& collector, const std::string& file,
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
