// PyTorch Flight Recorder dumps, one per rank, as pickle or JSON. Which ranks never arrived is
// found when all dumps are there (align/flight_recorder.h).
#include <algorithm>
#include <map>

#include "base/text.h"
#include "import/importer.h"
#include "import/json_fields.h"
#include "import/pickle.h"

namespace firstwait {
namespace {

using Id = ValueTree::Id;
using Kind = ValueTree::Kind;

constexpr HealthCounter kHealth[] = {
    {"refused_pickle", Severity::data_loss,
     "only the harmless opcodes of a pickle are read; record a Flight Recorder dump again, or as "
     "JSON"},
    {"bad_json", Severity::data_loss, "the JSON is cut or damaged; copy the dump again"},
    {"no_rank", Severity::data_loss,
     "name the file after its rank, as PyTorch does: ..._rank_3 or _dump_3"},
    {"bad_entry", Severity::data_loss,
     "an entry is no record of a collective: it has no process group or no sequence number; record "
     "the dump again, with PyTorch 2.2 or later"},
    {"duplicate_rank", Severity::info, "two dumps of the same rank were named; the first is used"},
    {"not_flight_recorder", Severity::error, "the document holds no Flight Recorder entries"},
    {"too_large", Severity::data_loss,
     "the dump exceeds 256 MiB; lower TORCH_NCCL_TRACE_BUFFER_SIZE"},
    {"damaged_pickle", Severity::data_loss,
     "the dump ends early or is damaged; copy it again, whole, from the machine that wrote it"}};
enum : size_t {
  kRefused,
  kBadJson,
  kNoRank,
  kBadEntry,
  kDuplicate,
  kNotFlight,
  kTooLarge,
  kDamaged
};

int sniff(const Sniff& s) {
  const bool words = contains(s.head, "pg_config") || contains(s.head, "collective_seq_id") ||
                     (contains(s.head, "process_group") && contains(s.head, "entries"));
  // Any other pickle is taken too, with a low score, so that it is refused by name.
  if (is_binary_pickle(s.head)) return words ? 95 : 20;
  if (s.head.starts_with("(d") || s.head.starts_with("(lp") || s.head.starts_with("(i"))
    return words ? 90 : 0;
  if (s.head.starts_with("c")) {
    const auto lines = split(s.head.substr(0, 512), '\n');
    const auto word = [](std::string_view text) {
      return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.';
      });
    };
    // "cmodule\nname\n(": a pickle that begins with an import.
    return lines.size() > 2 && word(lines[0]) && word(lines[1]) && lines[2].starts_with("(") ? 20
                                                                                             : 0;
  }
  if (!words || !trim(s.head).starts_with("{")) return 0;
  const auto keys = top_level_keys(s.head);
  return has_key(keys, "entries") || has_key(keys, "pg_config") ? 95 : 0;
}

// The last number of the file's name, before its extension: "nccl_trace_rank_12", "_dump_3.json".
std::optional<int32_t> rank_in_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view extension : {".gz", ".zst", ".json", ".pickle", ".pkl", ".bin"})
    if (name.ends_with(extension)) name.remove_suffix(extension.size());
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  const auto rank = parse_int(name.substr(begin));
  if (!rank || *rank > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*rank);
}

class FlightReader final : public WholeReader {
 public:
  explicit FlightReader(ImportContext context) : context_(std::move(context)) {}

 protected:
  void document(std::string& text, bool, bool too_large) override {
    if (too_large) return context_.count(kHealth[kTooLarge]);
    const bool json = trim(std::string_view(text).substr(0, 64)).starts_with("{");
    if (json) {
      simdjson::dom::parser parser;
      simdjson::dom::element root;
      if (parser.parse(text.data(), text.size(), false).get(root))
        return context_.count(kHealth[kBadJson]);
      tree_.root = convert(root);
      read();
      return;
    }
    const std::string wrong = parse_pickle(text, tree_);
    if (!wrong.empty())
      return context_.count(kHealth[contains(wrong, "opcode") ? kRefused : kDamaged], 1, wrong);
    read();
  }

 private:
  // Recursion is bounded by simdjson's own depth limit of 1024.
  Id convert(simdjson::dom::element e) {
    ValueTree::Node node;
    simdjson::dom::array array;
    simdjson::dom::object object;
    bool flag = false;
    if (!e.get(array)) {
      node.kind = Kind::list;
      for (const auto item : array) node.items.push_back(convert(item));
    } else if (!e.get(object)) {
      node.kind = Kind::dict;
      for (const auto field : object) {
        node.items.push_back(tree_.add({Kind::text, 0, 0, field.key, {}}));
        node.items.push_back(convert(field.value));
      }
    } else if (!e.get(flag)) {
      node.kind = Kind::boolean;
      node.integer = flag ? 1 : 0;
    } else if (!e.get(node.integer)) {
      node.kind = Kind::integer;
    } else if (!e.get(node.real)) {
      node.kind = Kind::real;
    } else if (!e.get(node.text)) {
      node.kind = Kind::text;
    }
    return tree_.add(std::move(node));
  }

  std::optional<int64_t> integer(Id id) const {
    const auto& n = tree_[id];
    if (n.kind == Kind::integer) return n.integer;
    if (n.kind == Kind::text) return parse_int(n.text);
    return std::nullopt;
  }
  std::string_view text(Id id) const {
    return tree_[id].kind == Kind::text ? tree_[id].text : std::string_view();
  }
  std::string text_or_number(Id id) const {
    const auto& n = tree_[id];
    return n.kind == Kind::integer ? std::to_string(n.integer) : std::string(text(id));
  }

  // "[0, 2]" or a list of numbers, ascending.
  std::vector<int32_t> members(Id id) const {
    std::vector<int32_t> out;
    const auto add = [&](std::optional<int64_t> rank) {
      if (rank && *rank >= 0 && *rank <= INT32_MAX) out.push_back(static_cast<int32_t>(*rank));
    };
    const auto& n = tree_[id];
    if (n.kind == Kind::list)
      for (const Id item : n.items) add(integer(item));
    std::string_view list = trim(text(id));
    if (list.starts_with("[") && list.ends_with("]"))
      for (const auto piece : split(list.substr(1, list.size() - 2), ',')) add(parse_int(piece));
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  struct Config {
    std::string description;
    std::vector<int32_t> members;
  };

  void read() {
    const Id entries = tree_.find(tree_.root, "entries"),
             config = tree_.find(tree_.root, "pg_config");
    if (tree_[entries].kind != Kind::list && tree_[config].kind != Kind::dict)
      return context_.count(kHealth[kNotFlight]);
    const auto& groups = tree_[config].items;
    if (tree_[config].kind == Kind::dict)
      for (size_t i = 0; i + 1 < groups.size(); i += 2) {
        const Id value = groups[i + 1];
        const bool dict = tree_[value].kind == Kind::dict;
        std::string name = text_or_number(dict ? tree_.find(value, "name") : groups[i]);
        if (name.empty()) name = text_or_number(groups[i]);
        config_[name] = {std::string(text(tree_.find(value, "desc"))),
                         members(dict ? tree_.find(value, "ranks") : value)};
      }
    const auto rank = find_rank();
    if (!rank) return context_.count(kHealth[kNoRank]);
    rank_ = *rank;
    Evidence& out = context_.out;
    if (std::find(out.flight_ranks.begin(), out.flight_ranks.end(), rank_) !=
        out.flight_ranks.end())
      return context_.count(kHealth[kDuplicate]);
    out.flight_ranks.push_back(rank_);
    if (out.rank(rank_).source.empty()) out.rank(rank_).source = context_.path;
    for (size_t g = 0; g < out.flight_groups.size(); ++g)
      index_[key(out.flight_groups[g])] = static_cast<int32_t>(g);
    for (const auto& [name, c] : config_) group(name, c.description);
    if (tree_[entries].kind == Kind::list)
      for (const Id entry : tree_[entries].items) read_entry(entry);
    read_status();
  }

  // The file's name tells the rank; without a number there, the only rank that is in all groups.
  std::optional<int32_t> find_rank() const {
    if (const auto named = rank_in_name(context_.path)) return named;
    std::optional<std::vector<int32_t>> common;
    for (const auto& [name, c] : config_) {
      if (c.members.empty()) continue;
      if (!common) {
        common = c.members;
        continue;
      }
      std::vector<int32_t> both;
      std::set_intersection(common->begin(), common->end(), c.members.begin(), c.members.end(),
                            std::back_inserter(both));
      common = std::move(both);
    }
    if (!common || common->size() != 1) return std::nullopt;
    return common->front();
  }

  static std::string key(const FlightGroup& g) {
    std::string out = g.name + '\n' + g.description;
    for (const int32_t m : g.members) out += ',' + std::to_string(m);
    return out;
  }
  int32_t group(const std::string& name, const std::string& description) {
    FlightGroup g{name, description, {}};
    if (const auto found = config_.find(name); found != config_.end()) {
      g.members = found->second.members;
      if (g.description.empty()) g.description = found->second.description;
    }
    auto& groups = context_.out.flight_groups;
    const auto [at, inserted] = index_.emplace(key(g), static_cast<int32_t>(groups.size()));
    if (inserted) groups.push_back(std::move(g));
    return at->second;
  }

  void read_entry(Id entry) {
    const auto& pair = tree_[tree_.find(entry, "process_group")];
    std::string name, description;
    if (pair.kind == Kind::list && !pair.items.empty()) {
      name = text_or_number(pair.items[0]);
      if (pair.items.size() > 1) description = text(pair.items[1]);
    } else {
      name = text_or_number(tree_.find(entry, "pg_name"));
    }
    const auto pg_id = integer(tree_.find(entry, "pg_id"));
    if (name.empty() && pg_id) name = std::to_string(*pg_id);
    auto seq = integer(tree_.find(entry, "collective_seq_id"));
    if (!seq) seq = integer(tree_.find(entry, "seq_id"));
    if (name.empty() || !seq || *seq < 0) return context_.count(kHealth[kBadEntry]);
    if (pg_id) group_of_id_[*pg_id] = name;
    Evidence& out = context_.out;
    FlightTable& t = out.flight;
    const auto& p2p = tree_[tree_.find(entry, "is_p2p")];
    std::string_view op = text(tree_.find(entry, "profiling_name"));
    t.rank.push_back(rank_);
    t.group.push_back(group(name, description));
    t.record.push_back(integer(tree_.find(entry, "record_id"))
                           .value_or(integer(tree_.find(entry, "id")).value_or(-1)));
    t.seq.push_back(*seq);
    t.op.push_back(out.names.intern(op));
    t.shape.push_back(out.names.intern(first_shape(tree_.find(entry, "input_sizes"))));
    t.dtype.push_back(out.names.intern(first_text(tree_.find(entry, "input_dtypes"))));
    t.completed.push_back(text(tree_.find(entry, "state")) == "completed" ? 1 : 0);
    t.p2p.push_back(p2p.kind == Kind::boolean && p2p.integer != 0 ? 1 : 0);
    const auto created = integer(tree_.find(entry, "time_created_ns"));
    t.created.push_back(created && *created > 0 && *created <= kMaxTime ? *created : kNoTime);
  }

  std::string first_shape(Id sizes) const {
    const auto& outer = tree_[sizes];
    if (outer.kind != Kind::list || outer.items.empty()) return {};
    const auto& inner = tree_[outer.items[0]];
    const auto& dims = inner.kind == Kind::list ? inner.items : outer.items;
    std::string out;
    for (size_t i = 0; i < dims.size() && i < 16; ++i) {
      if (i > 0) out += 'x';
      out += text_or_number(dims[i]);
    }
    return out;
  }
  std::string_view first_text(Id list) const {
    const auto& n = tree_[list];
    return n.kind == Kind::list && !n.items.empty() ? text(n.items[0]) : text(list);
  }

  // pg_status is keyed by the process's own running number of its groups, which only the entries
  // tie to a name. Groups without entries are matched in order of creation, which both numbers
  // follow, if that agrees with all that is known.
  void read_status() {
    const auto& status = tree_[tree_.find(tree_.root, "pg_status")];
    if (status.kind != Kind::dict) return;
    std::map<int64_t, Id> by_id;
    for (size_t i = 0; i + 1 < status.items.size(); i += 2)
      if (const auto id = integer(status.items[i])) by_id[*id] = status.items[i + 1];
    std::map<int64_t, std::string> by_order;
    for (const auto& [name, c] : config_)
      if (const auto number = parse_int(name)) by_order[*number] = name;
    std::map<int64_t, std::string> names = group_of_id_;
    if (by_order.size() == config_.size() && by_order.size() == by_id.size()) {
      std::map<int64_t, std::string> matched;
      auto name = by_order.begin();
      for (const auto& [id, value] : by_id) matched[id] = (name++)->second;
      const bool agrees =
          std::all_of(group_of_id_.begin(), group_of_id_.end(), [&](const auto& known) {
            const auto found = matched.find(known.first);
            return found == matched.end() || found->second == known.second;
          });
      if (agrees) names = std::move(matched);
    }
    for (const auto& [id, value] : by_id) {
      const auto name = names.find(id);
      if (name == names.end()) continue;
      const auto description = config_.find(name->second);
      context_.out.flight_status.push_back(
          {rank_,
           group(name->second, description == config_.end() ? "" : description->second.description),
           integer(tree_.find(value, "last_enqueued_collective")).value_or(-1),
           integer(tree_.find(value, "last_completed_collective")).value_or(-1)});
    }
  }

  ImportContext context_;
  ValueTree tree_;
  int32_t rank_ = -1;
  std::map<std::string, Config> config_;
  std::map<std::string, int32_t> index_;
  std::map<int64_t, std::string> group_of_id_;
};

}  // namespace

extern const Importer importer_flight_recorder{
    .name = "flight_recorder",
    .summary =
        "PyTorch Flight Recorder dumps, one per rank: which collective some ranks never reached",
    .formats = "nccl_trace_rank_N, _dump_N (pickle, harmless opcodes only), the same as JSON",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<FlightReader>(std::move(c));
    }};

}  // namespace firstwait
