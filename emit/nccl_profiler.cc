// The NCCL profiler plugin: collectives and point-to-point operations as spans of the process's
// ring.
//
// NCCL ends the event of an operation when it has been enqueued; the kernel's own time comes as
// children, one a channel, or where versions 1 and 2 have none, as network operations. An operation
// is therefore written when its successor on the same communicator begins to run (they run one
// after the other), or at the end.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emit/nccl_interface.h"
#include "firstwait/emit.h"

namespace firstwait::nccl {
namespace {

constexpr size_t kOperations = 256,
                 kChildren = 1024;  // per communicator; what finds no room is left out

struct Comm;

enum class What : uint8_t { free, operation, kernel, proxy_op, proxy_step };

struct Event {
  Comm* comm;
  What what;
  bool ran;
  uint32_t active;  // children that run
  uint64_t order;   // of operations: the running number in the communicator
  Event* parent;
  firstwait_op op;
  int64_t start, stop, first, last;  // own, and of the children
  int64_t seq, bytes;
};

// One communicator. NCCL calls from the program's thread and from its own.
struct Comm {
  std::atomic_flag lock;
  firstwait_op group;
  uint64_t orders, running,
      written;  // operations begun; the last that ran; those before `written` are done
  struct {
    const void* key;
    firstwait_op op;
  } ops[16];                      // names by the address of NCCL's constant
  Event operations[kOperations];  // by order
  Event children[kChildren];
  size_t next_child;
};

class Lock {
 public:
  explicit Lock(Comm* comm) : comm_(comm) {
    while (comm_->lock.test_and_set(std::memory_order_acquire)) ::sched_yield();
  }
  ~Lock() { comm_->lock.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Comm* comm_;
};

// NCCL's numbers in version 1, in PyTorch's words.
constexpr const char* kFunctions[] = {"broadcast",  "reduce",    "all_gather", "reduce_scatter",
                                      "all_reduce", "send_recv", "send",       "recv"};
constexpr struct {
  const char* nccl;
  const char* torch;
} kWords[] = {{"AllReduce", "all_reduce"},
              {"AllGather", "all_gather"},
              {"ReduceScatter", "reduce_scatter"},
              {"Broadcast", "broadcast"},
              {"Reduce", "reduce"},
              {"SendRecv", "send_recv"},
              {"Send", "send"},
              {"Recv", "recv"},
              {"AlltoAll", "all_to_all"},
              {"Gather", "gather"},
              {"Scatter", "scatter"}};
constexpr uint8_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // of ncclDataType_t
constexpr struct {
  const char* name;
  uint8_t bytes;
} kTypes[] = {{"ncclInt8", 1},     {"ncclUint8", 1},      {"ncclInt32", 4},
              {"ncclUint32", 4},   {"ncclInt64", 8},      {"ncclUint64", 8},
              {"ncclFloat16", 2},  {"ncclFloat32", 4},    {"ncclFloat64", 8},
              {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};

const char* word_of(const char* function) {
  if (function == nullptr) return "collective";
  for (const auto& word : kWords)
    if (std::strcmp(word.nccl, function) == 0) return word.torch;
  return function;
}
const char* word_of(uint8_t function) {
  return function < sizeof kFunctions / sizeof *kFunctions ? kFunctions[function] : "collective";
}
int64_t bytes_of(size_t count, const char* type) {
  if (type == nullptr) return -1;
  for (const auto& known : kTypes)
    if (std::strcmp(known.name, type) == 0) return static_cast<int64_t>(count * known.bytes);
  return -1;
}
int64_t bytes_of(size_t count, uint8_t type) {
  return type < sizeof kBytes ? static_cast<int64_t>(count * kBytes[type]) : -1;
}

firstwait_op group_name(const char* name, uint64_t comm) {
  char text[128];
  std::snprintf(text, sizeof text, "nccl %016llx%s%.64s", static_cast<unsigned long long>(comm),
                name != nullptr && *name != 0 ? " " : "", name != nullptr ? name : "");
  return firstwait_name(text, FIRSTWAIT_UNEXPLAINED);
}

// What NCCL is asked to tell. Network steps are many: only when wanted (FIRSTWAIT_NCCL=proxy_ops or
// proxy_steps).
int mask_for(int version) {
  uint64_t mask = kColl | kP2p;
  mask |= version >= 3 ? kKernelChannel : kProxyOp;
  if (const char* more = std::getenv("FIRSTWAIT_NCCL"); more != nullptr) {
    if (std::strstr(more, "proxy_op") != nullptr) mask |= kProxyOp;
    if (std::strstr(more, "proxy_step") != nullptr) mask |= kProxyOp | kProxyStep;
  }
  return static_cast<int>(mask);
}

Result open_comm(void** context, int* mask, int version, const char* name, uint64_t id) {
  *context = nullptr;
  *mask = 0;
  if (firstwait_open(0) != 0) return 0;  // nobody records: no event is asked for
  auto* comm = static_cast<Comm*>(std::calloc(1, sizeof(Comm)));
  if (comm == nullptr) return 0;
  if (version >= 4) comm->group = group_name(name, id);
  *context = comm;
  *mask = mask_for(version);
  return 0;
}

// The caller holds the lock.
void write(Event& e) {
  const bool ran = e.ran;
  firstwait_span_full(e.op, ran ? e.first : e.start,
                      ran           ? e.last
                      : e.stop != 0 ? e.stop
                                    : e.start,
                      e.comm->group, e.seq, e.bytes, FIRSTWAIT_BACKGROUND);
  e.what = What::free;
}

// One whose children still run waits for them, unless its place is needed.
void write_before(Comm* comm, uint64_t order, bool needed = false) {
  for (; comm->written < order; ++comm->written) {
    Event& e = comm->operations[comm->written % kOperations];
    if (e.what != What::operation || e.order != comm->written) continue;
    if (e.active > 0 && !needed) return;
    write(e);
  }
}

// NCCL names functions by constants: looked up once.
firstwait_op op_of(Comm* comm, const void* key, const char* text, int phase) {
  const Lock lock(comm);
  for (auto& known : comm->ops) {
    if (known.key == key) return known.op;
    if (known.key != nullptr) continue;
    known = {key, firstwait_name(text, phase)};
    return known.op;
  }
  return firstwait_name(text, phase);
}
firstwait_op op_of(Comm* comm, const char* function, int phase) {
  const char* word = word_of(function);
  return op_of(comm, word, word, phase);
}
firstwait_op op_of(Comm* comm, uint8_t function, int phase) {
  const char* word = word_of(function);
  return op_of(comm, word, word, phase);
}

Event* begin_operation(Comm* comm, firstwait_op op, int64_t seq, int64_t bytes) {
  const Lock lock(comm);
  const uint64_t order = comm->orders++;
  if (order >= kOperations) write_before(comm, order - kOperations + 1, true);
  Event& e = comm->operations[order % kOperations];
  e = Event{comm, What::operation, false, 0, order, nullptr, op, firstwait_now(), 0, 0, 0, seq,
            bytes};
  return &e;
}

Event* begin_child(Comm* comm, What what, Event* parent, firstwait_op op, int64_t seq,
                   int64_t bytes) {
  if (parent == nullptr || parent->comm != comm) return nullptr;
  const Lock lock(comm);
  for (size_t tries = 0; tries < kChildren; ++tries) {
    Event& e = comm->children[comm->next_child++ % kChildren];
    if (e.what != What::free) continue;
    e = Event{comm, what, false, 0,   parent->order, parent, op, firstwait_now(),
              0,    0,    0,     seq, bytes};
    if (parent->what == What::operation) {
      if (!parent->ran) {
        parent->ran = true;
        parent->first = e.start;
        if (parent->order > comm->running) comm->running = parent->order;
        write_before(comm, comm->running);
      }
      ++parent->active;
    }
    return &e;
  }
  return nullptr;
}

firstwait_op proxy_name(Comm* comm, const char* text) {
  return op_of(comm, text, text, FIRSTWAIT_UNEXPLAINED);
}

// Up to version 3 an operation says whose it is.
template <typename Operation>
void name_comm(Comm* comm, const Operation& what) {
  const Lock lock(comm);
  if (comm->group == 0) comm->group = group_name(what.name, what.comm);
}

// What all versions have in common, once the fields that moved have been picked.
template <int version, typename D>
Result start_event(void* context, void** event, D* d) {
  *event = nullptr;
  auto* comm = static_cast<Comm*>(context);
  if (comm == nullptr) return 0;
  auto* parent = static_cast<Event*>(d->parent);
  switch (static_cast<uint64_t>(d->type)) {
    case kColl:
      if constexpr (version < 4) name_comm(comm, d->coll);
      *event = begin_operation(comm, op_of(comm, d->coll.func, FIRSTWAIT_COLLECTIVE),
                               static_cast<int64_t>(d->coll.seq),
                               bytes_of(d->coll.count, d->coll.datatype));
      break;
    case kP2p:
      if constexpr (version < 4) name_comm(comm, d->p2p);
      *event = begin_operation(comm, op_of(comm, d->p2p.func, FIRSTWAIT_P2P), -1,
                               bytes_of(d->p2p.count, d->p2p.datatype));
      break;
    case kKernelChannel:
      *event = begin_child(comm, What::kernel, parent, 0, -1, -1);
      break;
    case kProxyOp:  // the parent may be an object of another process
      if (d->proxy_op.pid != ::getpid()) break;
      *event = begin_child(
          comm, What::proxy_op, parent,
          proxy_name(comm, d->proxy_op.is_send != 0 ? "proxy send" : "proxy receive"),
          d->proxy_op.channel, static_cast<int64_t>(d->proxy_op.steps) * d->proxy_op.chunk_bytes);
      break;
    case kProxyStep:
      *event = begin_child(comm, What::proxy_step, parent, proxy_name(comm, "proxy step"),
                           d->proxy_step.step, -1);
      break;
    default:
      break;
  }
  return 0;
}

Result stop_event(void* event) {
  auto* e = static_cast<Event*>(event);
  if (e == nullptr) return 0;
  const Lock lock(e->comm);
  e->stop = firstwait_now();
  // An operation may have been written while its thread had not come this far, and its place taken.
  if (e->what == What::operation || e->what == What::free) return 0;
  if (Event* parent = e->parent;
      parent->what == What::operation && parent->order == e->order && parent->active > 0) {
    --parent->active;
    if (e->stop > parent->last) parent->last = e->stop;
    if (parent->active == 0) write_before(e->comm, e->comm->running);
  }
  if (e->what != What::kernel)
    firstwait_span_full(e->op, e->start, e->stop, e->comm->group, e->seq, e->bytes,
                        FIRSTWAIT_BACKGROUND);
  e->what = What::free;
  return 0;
}

Result record_state(void*, int, void*) { return 0; }

Result close_comm(void* context) {
  auto* comm = static_cast<Comm*>(context);
  if (comm == nullptr) return 0;
  {
    const Lock lock(comm);
    write_before(comm, comm->orders, true);
  }
  std::free(comm);
  return 0;
}

template <int version>
Result init_old(void** context, int* mask) {
  return open_comm(context, mask, version, nullptr, 0);
}
Result init_v4(void** context, int* mask, const char* name, uint64_t comm, int, int, int, Logger) {
  return open_comm(context, mask, 4, name, comm);
}
Result init_v5(void** context, uint64_t comm, int* mask, const char* name, int, int, int, Logger) {
  return open_comm(context, mask, 5, name, comm);
}

}  // namespace
}  // namespace firstwait::nccl

using namespace firstwait::nccl;

extern "C" {
ProfilerV1<DescriptorV1> ncclProfiler_v1 = {"firstwait", init_old<1>,  start_event<1, DescriptorV1>,
                                            stop_event,  record_state, close_comm};
ProfilerV1<DescriptorV2> ncclProfiler_v2 = {"firstwait", init_old<2>,  start_event<2, DescriptorV2>,
                                            stop_event,  record_state, close_comm};
ProfilerV1<DescriptorV2> ncclProfiler_v3 = {"firstwait", init_old<3>,  start_event<3, DescriptorV2>,
                                            stop_event,  record_state, close_comm};
ProfilerV4 ncclProfiler_v4 = {"firstwait", init_v4,      start_event<4, DescriptorV4>,
                              stop_event,  record_state, close_comm};
ProfilerV5 ncclProfiler_v5 = {"firstwait", init_v5,      start_event<5, DescriptorV5>,
                              stop_event,  record_state, close_comm};
}
