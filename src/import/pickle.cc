#include "import/pickle.h"

#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "base/text.h"

namespace firstwait {
namespace {

using Id = ValueTree::Id;
using Kind = ValueTree::Kind;

struct Refused {
  unsigned char opcode;
  std::string_view name;
};
constexpr Refused kRefused[] = {
    {'c', "GLOBAL"},        {'R', "REDUCE"},       {'b', "BUILD"},           {'i', "INST"},
    {'o', "OBJ"},           {'P', "PERSID"},       {'Q', "BINPERSID"},       {0x81, "NEWOBJ"},
    {0x82, "EXT1"},         {0x83, "EXT2"},        {0x84, "EXT4"},           {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};

class Machine {
 public:
  Machine(std::string_view data, ValueTree& tree, size_t max_nodes)
      : data_(data), tree_(tree), max_nodes_(max_nodes) {}

  std::string run() {
    while (error_.empty() && !stopped_) {
      if (at_ >= data_.size()) return fail("the pickle ends early");
      if (tree_.nodes.size() > max_nodes_ || stack_.size() > max_nodes_)
        return fail("the pickle holds too many values");
      opcode_at_ = at_;
      step(static_cast<unsigned char>(data_[at_++]));
    }
    return error_;
  }

 private:
  std::string fail(std::string_view what) {
    if (error_.empty()) error_ = std::string(what) + " at byte " + std::to_string(opcode_at_);
    return error_;
  }

  // n bytes of argument; short input is an error and yields nothing.
  std::optional<std::string_view> take(uint64_t n) {
    if (n > data_.size() - at_) {
      fail("the pickle ends early");
      return std::nullopt;
    }
    const std::string_view piece = data_.substr(at_, static_cast<size_t>(n));
    at_ += static_cast<size_t>(n);
    return piece;
  }
  std::optional<uint64_t> number(size_t bytes) {
    const auto piece = take(bytes);
    if (!piece) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i)
      value |= uint64_t{static_cast<unsigned char>((*piece)[i])} << (8 * i);
    return value;
  }
  std::optional<std::string_view> line() {
    const size_t end = data_.find('\n', at_);
    if (end == std::string_view::npos) {
      fail("the pickle ends early");
      return std::nullopt;
    }
    const std::string_view piece = data_.substr(at_, end - at_);
    at_ = end + 1;
    return piece;
  }

  void push(Id id) { stack_.push_back(id); }
  void push_integer(int64_t value) { push(tree_.add({Kind::integer, value, 0, {}, {}})); }
  void push_text(std::string_view text) { push(tree_.add({Kind::text, 0, 0, text, {}})); }
  void push_sized_text(size_t size_bytes) {
    const auto size = number(size_bytes);
    if (!size) return;
    if (const auto text = take(*size)) push_text(*text);
  }
  // Little-endian two's complement; what does not fit 64 bits becomes none.
  void push_long(uint64_t bytes) {
    const auto piece = take(bytes);
    if (!piece) return;
    if (piece->size() > 8) return push(ValueTree::kNone);
    uint64_t value = !piece->empty() && (static_cast<unsigned char>(piece->back()) & 0x80U) != 0
                         ? ~uint64_t{0}
                         : 0;
    for (size_t i = 0; i < piece->size(); ++i) {
      value &= ~(uint64_t{0xff} << (8 * i));
      value |= uint64_t{static_cast<unsigned char>((*piece)[i])} << (8 * i);
    }
    push_integer(static_cast<int64_t>(value));
  }

  bool need(size_t n) {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() >= floor + n) return true;
    fail("the pickle's stack is empty");
    return false;
  }
  // Everything above the last mark.
  std::optional<std::vector<Id>> pop_mark() {
    if (marks_.empty()) {
      fail("the pickle's mark is missing");
      return std::nullopt;
    }
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  void collect(Kind kind, size_t n) {
    if (!need(n)) return;
    std::vector<Id> items(stack_.end() - static_cast<std::ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    push(tree_.add({kind, 0, 0, {}, std::move(items)}));
  }
  void collect_mark(Kind kind) {
    auto items = pop_mark();
    if (!items) return;
    if (kind == Kind::dict && items->size() % 2 != 0) {
      fail("a dict of the pickle lacks a value");
      return;
    }
    push(tree_.add({kind, 0, 0, {}, std::move(*items)}));
  }
  void extend(Kind kind, const std::vector<Id>& items) {
    if (!need(1)) return;
    ValueTree::Node& target = tree_.nodes[stack_.back()];
    if (target.kind != kind || (kind == Kind::dict && items.size() % 2 != 0)) {
      fail("the pickle adds to something that is no container");
      return;
    }
    target.items.insert(target.items.end(), items.begin(), items.end());
  }
  void extend_top(Kind kind, size_t n) {
    if (!need(n + 1)) return;
    const std::vector<Id> items(stack_.end() - static_cast<std::ptrdiff_t>(n), stack_.end());
    stack_.resize(stack_.size() - n);
    extend(kind, items);
  }
  void extend_mark(Kind kind) {
    if (const auto items = pop_mark()) extend(kind, *items);
  }
  void put(std::optional<uint64_t> key) {
    if (key && need(1)) memo_[*key] = stack_.back();
  }
  void get(std::optional<uint64_t> key) {
    if (!key) return;
    const auto found = memo_.find(*key);
    if (found == memo_.end()) {
      fail("the pickle reads a memo entry that it never wrote");
      return;
    }
    push(found->second);
  }
  std::optional<uint64_t> line_key() {
    const auto text = line();
    const auto value = text ? parse_int(*text) : std::nullopt;
    if (text && !value) fail("a number of the pickle is damaged");
    return value ? std::optional<uint64_t>(static_cast<uint64_t>(*value)) : std::nullopt;
  }

  void step(unsigned char opcode);
  bool step_number(unsigned char opcode);
  bool step_text(unsigned char opcode);
  bool step_container(unsigned char opcode);

  std::string_view data_;
  ValueTree& tree_;
  size_t max_nodes_;
  size_t at_ = 0, opcode_at_ = 0;
  std::vector<Id> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Id> memo_;
  std::string error_;
  bool stopped_ = false;
};

bool Machine::step_number(unsigned char opcode) {
  switch (opcode) {
    case 'N':
      push(ValueTree::kNone);
      return true;
    case 0x88:
    case 0x89:
      push(tree_.add({Kind::boolean, opcode == 0x88 ? 1 : 0, 0, {}, {}}));
      return true;
    case 'J':
      if (const auto v = number(4)) push_integer(static_cast<int32_t>(static_cast<uint32_t>(*v)));
      return true;
    case 'K':
      if (const auto v = number(1)) push_integer(static_cast<int64_t>(*v));
      return true;
    case 'M':
      if (const auto v = number(2)) push_integer(static_cast<int64_t>(*v));
      return true;
    case 0x8a:
    case 0x8b:
      if (const auto n = number(opcode == 0x8a ? 1 : 4)) push_long(*n);
      return true;
    case 'I':
    case 'L': {
      auto text = line();
      if (!text) return true;
      if (opcode == 'L' && text->ends_with('L')) text->remove_suffix(1);
      const auto value = parse_int(*text);
      if (opcode == 'I' && (*text == "00" || *text == "01")) {
        push(tree_.add({Kind::boolean, *text == "01" ? 1 : 0, 0, {}, {}}));
      } else if (value) {
        push_integer(*value);
      } else {
        push(ValueTree::kNone);
      }
      return true;
    }
    case 'F':
      if (const auto text = line())
        push(tree_.add({Kind::real, 0, parse_double(*text).value_or(0), {}, {}}));
      return true;
    case 'G':
      if (const auto bytes = take(8)) {
        uint64_t bits = 0;
        for (const char c : *bytes) bits = (bits << 8U) | static_cast<unsigned char>(c);
        push(tree_.add({Kind::real, 0, std::bit_cast<double>(bits), {}, {}}));
      }
      return true;
    default:
      return false;
  }
}

bool Machine::step_text(unsigned char opcode) {
  switch (opcode) {
    case 'X':
    case 'T':
    case 'B':
      push_sized_text(4);
      return true;
    case 0x8c:
    case 'U':
    case 'C':
      push_sized_text(1);
      return true;
    case 0x8d:
    case 0x8e:
    case 0x96:
      push_sized_text(8);
      return true;
    case 'V':
      if (const auto text = line()) push_text(*text);
      return true;
    case 'S':
      if (auto text = line()) {
        if (text->size() >= 2 && (text->front() == '\'' || text->front() == '"'))
          *text = text->substr(1, text->size() - 2);
        push_text(*text);
      }
      return true;
    default:
      return false;
  }
}

bool Machine::step_container(unsigned char opcode) {
  switch (opcode) {
    case ']':
    case ')':
    case 0x8f:
      collect(Kind::list, 0);
      return true;
    case '}':
      collect(Kind::dict, 0);
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      collect(Kind::list, opcode - 0x84U);
      return true;
    case 't':
    case 'l':
    case 0x91:
      collect_mark(Kind::list);
      return true;
    case 'd':
      collect_mark(Kind::dict);
      return true;
    case 'a':
      extend_top(Kind::list, 1);
      return true;
    case 's':
      extend_top(Kind::dict, 2);
      return true;
    case 'e':
    case 0x90:
      extend_mark(Kind::list);
      return true;
    case 'u':
      extend_mark(Kind::dict);
      return true;
    default:
      return false;
  }
}

void Machine::step(unsigned char opcode) {
  if (step_number(opcode) || step_text(opcode) || step_container(opcode)) return;
  switch (opcode) {
    case 0x80:
      number(1);
      return;
    case 0x95:
      number(8);
      return;
    case '.':
      if (need(1)) tree_.root = stack_.back();
      stopped_ = true;
      return;
    case '(':
      marks_.push_back(stack_.size());
      return;
    case '0':
      if (need(1)) stack_.pop_back();
      return;
    case '1':
      pop_mark();
      return;
    case '2':
      if (need(1)) push(stack_.back());
      return;
    case 'p':
      return put(line_key());
    case 'q':
      return put(number(1));
    case 'r':
      return put(number(4));
    case 0x94:
      return put(memo_.size());
    case 'g':
      return get(line_key());
    case 'h':
      return get(number(1));
    case 'j':
      return get(number(4));
    default:
      break;
  }
  for (const Refused& r : kRefused)
    if (r.opcode == opcode) {
      fail("opcode " + std::string(r.name) + " is refused");
      return;
    }
  fail("unknown opcode " + std::to_string(opcode));
}

}  // namespace

std::string parse_pickle(std::string_view data, ValueTree& tree, size_t max_nodes) {
  return Machine(data, tree, max_nodes).run();
}

bool is_binary_pickle(std::string_view head) {
  return head.size() >= 3 && static_cast<unsigned char>(head[0]) == 0x80 && head[1] >= 2 &&
         head[1] <= 5;
}

}  // namespace firstwait
