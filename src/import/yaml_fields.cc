#include "import/yaml_fields.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace firstwait {
namespace {

// The parser recurses once for every open bracket, compact "- - -" or deeper indentation: bound
// them in the text.
bool too_deep(const std::string& text) {
  int flow = 0;
  std::vector<size_t> indents;
  for (const auto line : split(text, '\n')) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) continue;
    while (!indents.empty() && indents.back() >= indent) indents.pop_back();
    indents.push_back(indent);
    int compact = 0;
    for (size_t i = indent; i < line.size(); ++i) {
      const char c = line[i];
      if (c == '[' || c == '{') ++flow;
      if (c == ']' || c == '}') flow = std::max(0, flow - 1);
      // A dash, question mark or colon before a blank may open a block inside a block.
      if ((c == '-' || c == '?' || c == ':') &&
          (i + 1 == line.size() || line[i + 1] == ' ' || line[i + 1] == '\t'))
        ++compact;
    }
    if (flow + compact + static_cast<int>(indents.size()) > kMaxYamlDepth) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string_view> top_level_yaml_keys(std::string_view text) {
  std::vector<std::string_view> keys;
  for (const auto line : split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || keys.size() >= 256) continue;
    const bool key =
        std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                 (c >= '0' && c <= '9');
        });
    if (!key) continue;
    const std::string_view rest = line.substr(colon + 1);
    if (rest.empty() || rest.front() == ' ' || rest.front() == '\r')
      keys.push_back(line.substr(0, colon));
  }
  return keys;
}

std::string with_yaml(const std::string& text, void (*use)(const YAML::Node&, void*), void* state) {
  if (too_deep(text)) return "nested too deeply";
  try {
    const YAML::Node root = YAML::Load(text);
    use(root, state);
  } catch (const YAML::Exception& error) {
    return error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::string yaml_text(const YAML::Node& map, const char* key) {
  if (!map.IsMap()) return {};
  const YAML::Node value = map[key];
  return value && value.IsScalar() ? value.Scalar() : std::string();
}

int yaml_index(const YAML::Node& map, const char* key, int fallback) {
  const auto number = parse_int(yaml_text(map, key));
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int>(*number) : fallback;
}

}  // namespace firstwait
