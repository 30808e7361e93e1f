// A tree of plain values, as pickle and JSON documents hold them. Nodes are addressed by index;
// texts point into the document, which must outlive the tree.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace firstwait {

struct ValueTree {
  using Id = uint32_t;
  enum class Kind : uint8_t { none, boolean, integer, real, text, list, dict };
  struct Node {
    Kind kind = Kind::none;
    int64_t integer = 0;  // boolean, integer
    double real = 0;
    std::string_view text;
    std::vector<Id> items;  // list: the elements; dict: key, value, key, value ...
  };
  static constexpr Id kNone = 0;

  std::vector<Node> nodes{Node{}};
  Id root = kNone;

  const Node& operator[](Id id) const { return nodes[id]; }
  Id add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<Id>(nodes.size() - 1);
  }
  // The value under a text key; kNone when there is none. A later key wins, as in Python.
  Id find(Id dict, std::string_view key) const {
    const Node& n = nodes[dict];
    Id found = kNone;
    if (n.kind == Kind::dict)
      for (size_t i = 0; i + 1 < n.items.size(); i += 2)
        if (nodes[n.items[i]].kind == Kind::text && nodes[n.items[i]].text == key)
          found = n.items[i + 1];
    return found;
  }
};

}  // namespace firstwait
