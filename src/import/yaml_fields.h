// Reading small YAML documents without letting an exception or a hostile document out.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace YAML {
class Node;
}

namespace firstwait {

// The keys at the start of a line, without their values ("job" of "job: resnet"); works on text
// that is cut.
std::vector<std::string_view> top_level_yaml_keys(std::string_view text);

// Text nested deeper than this is refused before parsing: the parser recurses.
inline constexpr int kMaxYamlDepth = 64;

// Parses `text` and calls `use` with the root. Returns what is wrong, empty when nothing is.
std::string with_yaml(const std::string& text, void (*use)(const YAML::Node& root, void* state),
                      void* state);

// "" when the key is absent or holds no scalar.
std::string yaml_text(const YAML::Node& map, const char* key);
// The fallback when the key is absent or holds no number of 0 or more.
int yaml_index(const YAML::Node& map, const char* key, int fallback = -1);

}  // namespace firstwait
