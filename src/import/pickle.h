// A restricted reader of Python pickles: numbers, texts, bytes, lists, tuples, sets, dicts and the
// memo. Every opcode that would import or call something is refused by name; nothing is ever
// executed.
#pragma once
#include <string>
#include <string_view>

#include "import/value_tree.h"

namespace firstwait {

// Fills `tree`; returns what is wrong with the offset, empty when nothing is. `max_nodes` bounds
// the memory.
std::string parse_pickle(std::string_view data, ValueTree& tree,
                         size_t max_nodes = size_t{4} << 20);

// True when `head` begins like a pickle of protocol 2 or later.
bool is_binary_pickle(std::string_view head);

}  // namespace firstwait
