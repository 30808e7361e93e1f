#include "attribute/whatif/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace firstwait::whatif {
namespace {

// Values to dense indexes, in ascending order.
class Index {
 public:
  explicit Index(const std::vector<int32_t>& column) {
    int32_t last = 0;
    bool any = false;
    for (const int32_t v : column) {
      if (any && v == last) continue;
      any = true;
      last = v;
      values_.push_back(v);
    }
    std::sort(values_.begin(), values_.end());
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
  }
  const std::vector<int32_t>& values() const { return values_; }
  size_t size() const { return values_.size(); }
  // Rows of one value mostly lie together.
  size_t at(int32_t value) {
    if (values_[last_] != value)
      last_ = static_cast<size_t>(std::lower_bound(values_.begin(), values_.end(), value) -
                                  values_.begin());
    return last_;
  }
  // The first number from 0 on that is missing, when there is one.
  std::optional<int32_t> gap() const {
    for (size_t i = 0; i < values_.size(); ++i)
      if (values_[i] != static_cast<int32_t>(i)) return static_cast<int32_t>(i);
    return std::nullopt;
  }

 private:
  std::vector<int32_t> values_;
  size_t last_ = 0;
};

constexpr uint32_t kNone = UINT32_MAX;

// Numbers the operations as they are first seen. A table where it is small, else a hash map.
class OpNumbers {
 public:
  OpNumbers(size_t stages, int32_t max_seq, size_t rows)
      : stages_(stages), seqs_(static_cast<size_t>(max_seq) + 1) {
    const size_t size = kOpTypes * stages_ * seqs_;
    if (stages_ < (size_t{1} << 24) && size <= 4 * rows + (size_t{1} << 16))
      table_.assign(size, kNone);
  }
  uint32_t& at(OpType type, size_t stage, int32_t seq) {
    const size_t key = (index(type) * stages_ + stage) * seqs_ + static_cast<size_t>(seq);
    return table_.empty() ? map_.try_emplace(key, kNone).first->second : table_[key];
  }

 private:
  size_t stages_, seqs_;
  std::vector<uint32_t> table_;
  std::unordered_map<size_t, uint32_t> map_;
};

struct Rows {
  std::vector<uint32_t> row, op;  // of the evidence, and the operation that it is
  std::vector<uint32_t> cell;     // (dp rank, step index) = dp * steps + step
  std::vector<uint8_t> dropped;   // per step
};

std::vector<std::optional<OpType>> types_of_names(const Evidence& e) {
  std::vector<std::optional<OpType>> types(e.names.size());
  for (size_t t = 0; t < kOpTypes; ++t)
    if (const NameId id = e.names.find(kOpTypeNames[t]); id != kNoName)
      types[id] = static_cast<OpType>(t);
  return types;
}

// Which steps have other operations than most; those at the ends are dropped, others are an error.
Result<size_t> drop_incomplete(const Job& job, Rows& rows, size_t ops) {
  const size_t cells = job.cells();
  // Sums of mixed bits tell sets of operations apart without sorting them; a duplicate shows in the
  // count.
  std::vector<uint64_t> signature(cells), count(cells);
  std::vector<uint64_t> bits(ops);
  for (size_t i = 0; i < ops; ++i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    bits[i] = x ^ (x >> 31);
  }
  for (size_t i = 0; i < rows.row.size(); ++i) {
    signature[rows.cell[i]] += bits[rows.op[i]];
    ++count[rows.cell[i]];
  }
  std::unordered_map<uint64_t, size_t> votes;
  for (size_t c = 0; c < cells; ++c)
    if (count[c] > 0) ++votes[signature[c]];
  uint64_t usual = 0;
  size_t usual_votes = 0, usual_ops = 0;
  for (size_t c = 0; c < cells; ++c) {
    if (count[c] == 0) continue;
    const size_t v = votes[signature[c]];
    if (v > usual_votes || (v == usual_votes && count[c] > usual_ops)) {
      usual = signature[c];
      usual_votes = v;
      usual_ops = count[c];
    }
  }
  const auto whole = [&](size_t step) {
    for (size_t d = 0; d < job.dps; ++d) {
      const size_t c = d * job.steps + step;
      if (count[c] == 0 || signature[c] != usual) return false;
    }
    return true;
  };
  size_t first = 0, last = job.steps;
  if (job.steps > 1 && !whole(0)) first = 1;
  if (last - first > 1 && !whole(last - 1)) --last;
  for (size_t s = first; s < last; ++s) {
    if (whole(s)) continue;
    size_t d = 0;
    while (count[d * job.steps + s] != 0 && signature[d * job.steps + s] == usual) ++d;
    return Error{
        fmt::format(
            "step {}, dp rank {} has {} operations, most have {}: every step and dp rank must have "
            "the same",
            job.step[s], d, count[d * job.steps + s], usual_ops),
        "", "record all ranks over the same steps"};
  }
  // The signature is a sum: the same set, or a repeated operation in the place of another; the
  // latter shows as more operations in all than in one cell.
  std::vector<uint8_t> seen(ops);
  size_t distinct = 0;
  for (size_t i = 0; i < rows.row.size(); ++i) {
    const size_t s = rows.cell[i] % job.steps;
    if (s != first || rows.cell[i] / job.steps != 0) continue;
    if (seen[rows.op[i]]++ != 0)
      return Error{fmt::format("step {} records the same operation twice", job.step[s]), "",
                   "give each operation of a stage its own seq_id within the step"};
    ++distinct;
  }
  if (distinct == 0) return Error{"no step is complete", "", "record at least one whole step"};
  rows.dropped.assign(job.steps, 0);
  if (first == 1) rows.dropped.front() = 1;
  if (last != job.steps) rows.dropped.back() = 1;
  return first + (job.steps - last);
}

// The columns, with dropped steps left out.
void fill(const OpTable& t, const Rows& rows, const std::vector<Op>& all_ops, Job& job) {
  const size_t old_steps = job.steps;
  std::vector<uint32_t> new_step(old_steps, kNone);
  std::vector<int32_t> kept;
  for (size_t s = 0; s < old_steps; ++s) {
    if (rows.dropped[s] != 0) continue;
    new_step[s] = static_cast<uint32_t>(kept.size());
    kept.push_back(job.step[s]);
  }
  job.step = std::move(kept);
  job.steps = job.step.size();
  // Only the operations of complete steps; those seen in dropped steps alone are left out.
  std::vector<uint32_t> number(all_ops.size(), kNone);
  for (size_t i = 0; i < rows.row.size(); ++i) {
    const size_t s = rows.cell[i] % old_steps;
    if (new_step[s] != 0 || rows.cell[i] / old_steps != 0) continue;
    const size_t row = rows.row[i];
    Op op = all_ops[rows.op[i]];
    op.chunk = t.model_chunk[row];
    op.global_chunk = t.global_model_chunk[row];
    op.microbatch = t.microbatch[row];
    op.start = t.start[row];
    op.end = static_cast<double>(t.start[row]) + static_cast<double>(t.duration[row]);
    number[rows.op[i]] = static_cast<uint32_t>(job.ops.size());
    job.ops.push_back(op);
  }
  const size_t cells = job.cells();
  job.start.resize(job.ops.size() * cells);
  job.duration.resize(job.ops.size() * cells);
  for (size_t i = 0; i < rows.row.size(); ++i) {
    const size_t s = rows.cell[i] % old_steps, d = rows.cell[i] / old_steps;
    if (new_step[s] == kNone) continue;
    const size_t at = number[rows.op[i]] * cells + d * job.steps + new_step[s];
    job.start[at] = t.start[rows.row[i]];
    job.duration[at] = t.duration[rows.row[i]];
  }
}

void set_chunks(const Evidence& e, Job& job) {
  int32_t chunks = 1;
  // There are no more chunks than operations: a larger number is damage, and says nothing.
  const auto most = static_cast<int32_t>(std::min<size_t>(job.ops.size(), INT32_MAX / 2));
  for (Op& op : job.ops) {
    if (op.chunk >= most) op.chunk = -1;
    if (op.global_chunk / static_cast<int32_t>(job.stages) >= most) op.global_chunk = -1;
    chunks = std::max(chunks, op.chunk + 1);
    if (op.global_chunk >= 0)
      chunks = std::max(chunks, op.global_chunk / static_cast<int32_t>(job.stages) + 1);
  }
  if (e.job.vpp > chunks && static_cast<size_t>(e.job.vpp) <= job.ops.size()) chunks = e.job.vpp;
  job.chunks = static_cast<size_t>(chunks);
  // An interleaved schedule gives chunk c of stage s the place c * stages + s in the model.
  for (Op& op : job.ops)
    if (is_compute(op.type) && op.global_chunk < 0)
      op.global_chunk = static_cast<int32_t>(std::min<int64_t>(
          int64_t{std::max(op.chunk, 0)} * static_cast<int64_t>(job.stages) + op.stage, INT32_MAX));
}

}  // namespace

Result<Job> load_job(const Evidence& e) {
  const OpTable& t = e.ops;
  if (t.size() == 0) return Error{"there are no op records", "", ""};
  if (t.size() > UINT32_MAX / 2)
    return Error{"too many op records", "", "analyse fewer steps at a time"};
  Job job;
  Index dps(t.dp_rank), stages(t.stage), steps(t.step);
  if (const auto gap = dps.gap())
    return Error{fmt::format("dp rank {} has no records", *gap), "", "record every rank"};
  if (const auto gap = stages.gap())
    return Error{fmt::format("stage {} has no records", *gap), "", "record every rank"};
  job.dps = dps.size();
  job.stages = stages.size();
  job.steps = steps.size();
  job.step = steps.values();
  if (e.job.pp > 0 && static_cast<size_t>(e.job.pp) != job.stages)
    return Error{fmt::format("{} of {} pipeline stages have records", job.stages, e.job.pp), "",
                 "record every stage"};
  if (e.job.dp > 0 && static_cast<size_t>(e.job.dp) != job.dps)
    return Error{fmt::format("{} of {} data-parallel ranks have records", job.dps, e.job.dp), "",
                 "record every rank"};
  if (job.cells() > t.size())
    return Error{"most steps and dp ranks have no records", "",
                 "record all ranks over the same steps"};

  const auto types = types_of_names(e);
  OpNumbers numbers(job.stages, std::max(0, *std::max_element(t.seq.begin(), t.seq.end())),
                    t.size());
  std::vector<Op> ops;
  std::vector<uint8_t> ignored(types.size());
  Rows rows;
  rows.row.reserve(t.size());
  rows.op.reserve(t.size());
  rows.cell.reserve(t.size());
  job.rank.assign(job.dps * job.stages, -1);
  for (size_t i = 0; i < t.size(); ++i) {
    const auto type = types[t.optype[i]];
    if (!type) {
      if (ignored[t.optype[i]]++ == 0) job.ignored_types.emplace_back(e.names[t.optype[i]]);
      ignored[t.optype[i]] = 1;
      continue;
    }
    const int32_t seq = std::max(t.seq[i], 0);
    const size_t stage = stages.at(t.stage[i]), dp = dps.at(t.dp_rank[i]);
    uint32_t& op = numbers.at(*type, stage, seq);
    if (op == kNone) {
      op = static_cast<uint32_t>(ops.size());
      ops.push_back({.type = *type, .stage = static_cast<int32_t>(stage), .seq = seq});
    }
    rows.row.push_back(static_cast<uint32_t>(i));
    rows.op.push_back(op);
    rows.cell.push_back(static_cast<uint32_t>(dp * job.steps + steps.at(t.step[i])));
    job.rank[dp * job.stages + stage] = t.rank[i];
  }
  if (ops.empty()) return Error{"no operation has a name that the pipeline graph knows", "", ""};
  auto dropped = drop_incomplete(job, rows, ops.size());
  if (!dropped) return dropped.error();
  job.dropped_steps = *dropped;
  fill(t, rows, ops, job);
  set_chunks(e, job);
  return job;
}

}  // namespace firstwait::whatif
