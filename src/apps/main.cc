#include <cstdio>

#include "import/import.h"

int main(int argc, char** argv) {
  firstwait::Evidence evidence;
  const auto result = firstwait::import_inputs({argv + 1, argv + argc}, {}, evidence);
  if (!result) return std::fprintf(stderr, "firstwait: %s\n", result.error().what.c_str()), 2;
  for (const auto& s : evidence.sources) std::printf("%s %s %lu\n", s.path.c_str(), s.importer.c_str(), s.rows);
}
