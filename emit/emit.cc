// The writer of a process's ring. Only the C library is used, so that the shared object can be
// loaded anywhere.
#include "firstwait/emit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emit/layout.h"

namespace {

using namespace firstwait::ring;

enum State : int { kUnopened, kOpen, kOff };

// All that the process knows of its ring. A forked child starts over, but keeps the strings: names
// given before the fork stay valid.
struct Ring {
  std::atomic<int> state{kUnopened};
  std::atomic<int> error{0};
  std::atomic_flag lock = ATOMIC_FLAG_INIT;  // around opening and strings
  Header* header = nullptr;
  uint64_t* words = nullptr;  // the records
  uint64_t mask = 0;
  char* strings = nullptr;
  uint32_t wanted = 0;
  // What the parent had; mapped, read only by the child.
  const char* inherited = nullptr;
  uint64_t inherited_used = 0;
  Header identity{};  // rank and role told before the ring was there
  bool watching_forks = false;
};

Ring g_ring;
// The batch that a loader's thread has in hand.
struct Batch {
  bool inside;
  int schedstat;  // its file, plus one; 0: not opened
  int64_t start, cpu, waited, decode, collate, part;
};
thread_local Batch t_batch __attribute__((tls_model("initial-exec"))) = {};
thread_local uint32_t t_thread __attribute__((tls_model("initial-exec"))) = 0;

std::atomic_ref<uint64_t> atomic(uint64_t& word) { return std::atomic_ref<uint64_t>(word); }

class Lock {
 public:
  Lock() {
    while (g_ring.lock.test_and_set(std::memory_order_acquire)) ::sched_yield();
  }
  ~Lock() { g_ring.lock.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

int64_t clock_ns(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

// The only thread of a forked child runs this: whatever another thread held in the parent is free
// here.
void after_fork_in_child() {
  if (g_ring.state.load(std::memory_order_relaxed) == kOpen) {
    g_ring.inherited = g_ring.strings;
    g_ring.inherited_used = atomic(g_ring.header->strings_used).load(std::memory_order_acquire);
    g_ring.identity.rank = -1;  // a child is a rank of its own only if it says so
    g_ring.identity.world_size = g_ring.header->world_size;
    g_ring.identity.local_rank = -1;
    g_ring.identity.role = FIRSTWAIT_OTHER;
  }
  g_ring.state.store(kUnopened, std::memory_order_relaxed);
  g_ring.lock.clear(std::memory_order_release);
  t_thread = 0;
  if (t_batch.schedstat > 0) ::close(t_batch.schedstat - 1);
  t_batch = {};
}

uint32_t records_wanted(uint32_t asked) {
  uint64_t n = asked;
  if (n == 0) {
    const char* text = std::getenv("FIRSTWAIT_RING_RECORDS");
    n = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
    if (n == 0) n = 16384;
  }
  if (n < kLeastRecords) n = kLeastRecords;
  if (n > kMostRecords) n = kMostRecords;
  return std::bit_ceil(static_cast<uint32_t>(n));
}

// Strings keep their offsets in a child; the parent's settings are not its own.
void copy_inherited(char* strings, Header* header) {
  if (g_ring.inherited == nullptr) return;
  std::memcpy(strings, g_ring.inherited, g_ring.inherited_used);
  for (uint64_t at = 0; at < g_ring.inherited_used;) {
    auto* head = reinterpret_cast<StringHead*>(strings + at);
    if (head->kind == kSettingString) head->kind = kInherited;
    at += (sizeof(StringHead) + head->bytes + 7) / 8 * 8;
  }
  header->strings_used = g_ring.inherited_used;
}

void fill_header(Header* h, uint32_t capacity) {
  h->header_bytes = kHeaderBytes;
  h->record_bytes = kRecordBytes;
  h->capacity = capacity;
  h->strings_offset = kHeaderBytes + static_cast<uint64_t>(capacity) * kRecordBytes;
  h->strings_bytes = kStringsBytes;
  h->pid = ::getpid();
  h->parent = ::getppid();
  // The pair that was read in the shortest time: nobody interrupted that one.
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const int64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);
    const int64_t took = clock_ns(CLOCK_MONOTONIC) - before;
    if (took >= shortest) continue;
    shortest = took;
    h->anchor_monotonic = before + took / 2;
    h->anchor_realtime = real;
  }
  h->rank = g_ring.identity.rank;
  h->world_size = g_ring.identity.world_size;
  h->local_rank = g_ring.identity.local_rank;
  h->role = g_ring.identity.role;
  ::gethostname(h->host, sizeof h->host - 1);
  std::memcpy(h->magic, kMagic, sizeof kMagic);
}

// Makes the file under another name first: a reader never sees half a header. Its pages are
// reserved, so that a full file system shows here and not as a fault in the middle of the training.
int open_ring() {
  const char* dir = std::getenv("FIRSTWAIT_DIR");
  if (dir == nullptr || *dir == 0) return ENOENT;
  char path[1024], hidden[1040];
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  const int n = std::snprintf(path, sizeof path, "%s/%d-%llx.ring", dir, ::getpid(),
                              static_cast<long long>(now));
  if (n <= 0 || static_cast<size_t>(n) + 4 >= sizeof path) return ENAMETOOLONG;
  std::snprintf(hidden, sizeof hidden, "%s.new", path);
  const uint32_t capacity = records_wanted(g_ring.wanted);
  const size_t bytes = kHeaderBytes + static_cast<size_t>(capacity) * kRecordBytes + kStringsBytes;
  const int file = ::open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return errno;
  int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* memory = MAP_FAILED;
  if (error == 0) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  ::close(file);
  if (error != 0) {
    ::unlink(hidden);
    return error;
  }
  auto* base = static_cast<char*>(memory);
  auto* header = reinterpret_cast<Header*>(base);
  fill_header(header, capacity);
  copy_inherited(base + header->strings_offset, header);
  if (::rename(hidden, path) != 0) {
    error = errno;
    ::munmap(memory, bytes);
    ::unlink(hidden);
    return error;
  }
  g_ring.header = header;
  g_ring.words = reinterpret_cast<uint64_t*>(base + kHeaderBytes);
  g_ring.mask = capacity - 1;
  g_ring.strings = base + header->strings_offset;
  return 0;
}

bool ready_slow() {
  const int saved = errno;
  {
    const Lock lock;
    if (g_ring.state.load(std::memory_order_acquire) == kUnopened) {
      if (!g_ring.watching_forks) {
        g_ring.watching_forks = true;
        g_ring.identity.rank = g_ring.identity.world_size = g_ring.identity.local_rank = -1;
        ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
      }
      const int error = open_ring();
      g_ring.error.store(error, std::memory_order_relaxed);
      g_ring.state.store(error == 0 ? kOpen : kOff, std::memory_order_release);
    }
  }
  errno = saved;
  return g_ring.state.load(std::memory_order_acquire) == kOpen;
}

inline bool ready() {
  const int state = g_ring.state.load(std::memory_order_acquire);
  if (__builtin_expect(state == kOpen, 1)) return true;
  return state == kUnopened && ready_slow();
}

inline uint32_t thread_id() {
  if (__builtin_expect(t_thread == 0, 0)) t_thread = static_cast<uint32_t>(::syscall(SYS_gettid));
  return t_thread;
}

// Never waits: a slot is taken by counting. Two writers meet in one only if the whole ring was
// filled while one of them was held up in the middle of a record; the check then tells the reader.
// Words are put together in registers: a Record in memory, read back as words, costs twice as much.
inline void put(Kind kind, firstwait_op op, int64_t start, int64_t end, uint32_t group, int64_t seq,
                int64_t value, uint8_t lane = 0) {
  const uint64_t index = atomic(g_ring.header->head).fetch_add(1, std::memory_order_relaxed);
  const uint64_t what = static_cast<uint32_t>(op) | static_cast<uint64_t>(kind) << 32 |
                        static_cast<uint64_t>(static_cast<uint8_t>(op >> 32)) << 40 |
                        static_cast<uint64_t>(lane) << 48;
  const uint64_t who = thread_id() | static_cast<uint64_t>(group) << 32;
  const std::array<uint64_t, kWords - 1> words = {
      index + 1, static_cast<uint64_t>(start), static_cast<uint64_t>(end),  what,
      who,       static_cast<uint64_t>(seq),   static_cast<uint64_t>(value)};
  uint64_t* slot = g_ring.words + (index & g_ring.mask) * kWords;
#pragma GCC unroll 8
  for (size_t i = 1; i + 1 < kWords; ++i)
    atomic(slot[i]).store(words[i], std::memory_order_relaxed);
  atomic(slot[kWords - 1]).store(check_of(words.data()), std::memory_order_relaxed);
  atomic(slot[0]).store(words[0], std::memory_order_release);
}

// 0 when the table is full. Offset 0 holds the name "".
uint32_t add_string(uint16_t kind, const char* text, size_t bytes) {
  Header* h = g_ring.header;
  const uint64_t used = atomic(h->strings_used).load(std::memory_order_relaxed);
  const uint64_t size = (sizeof(StringHead) + bytes + 7) / 8 * 8;
  if (used + size > kStringsBytes) {
    atomic(h->strings_lost).fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  auto* head = reinterpret_cast<StringHead*>(g_ring.strings + used);
  head->bytes = static_cast<uint32_t>(bytes);
  head->kind = kind;
  head->reserved = 0;
  head->time = clock_ns(CLOCK_MONOTONIC);
  std::memcpy(head + 1, text, bytes);
  atomic(h->strings_used).store(used + size, std::memory_order_release);
  return static_cast<uint32_t>(used / 8);
}

uint32_t find_name(const char* name, size_t bytes) {
  const uint64_t used = g_ring.header->strings_used;
  for (uint64_t at = 0; at < used;) {
    const auto* head = reinterpret_cast<const StringHead*>(g_ring.strings + at);
    if (head->kind == kNameString && head->bytes == bytes &&
        std::memcmp(head + 1, name, bytes) == 0)
      return static_cast<uint32_t>(at / 8);
    at += (sizeof(StringHead) + head->bytes + 7) / 8 * 8;
  }
  return UINT32_MAX;
}

uint32_t intern(const char* name) {
  if (g_ring.header->strings_used == 0) add_string(kNameString, "", 0);
  const size_t bytes = ::strnlen(name, kMaxName);
  const uint32_t known = find_name(name, bytes);
  return known != UINT32_MAX ? known : add_string(kNameString, name, bytes);
}

// How long this thread has waited for a processor: the second number of its schedstat.
int64_t waited_for_cpu() {
  if (t_batch.schedstat == 0)
    t_batch.schedstat = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) + 1;
  if (t_batch.schedstat == 0) return 0;
  char text[64];
  const ssize_t n = ::pread(t_batch.schedstat - 1, text, sizeof text - 1, 0);
  if (n <= 0) return 0;
  text[n] = 0;
  const char* second = std::strchr(text, ' ');
  return second != nullptr ? std::strtoll(second, nullptr, 10) : 0;
}

struct BatchOps {
  firstwait_op fetch, decode, transform, collate;
};
// Names that were given keep their numbers, also over a fork.
const BatchOps& batch_ops() {
  static std::atomic<int> made{0};
  static BatchOps ops;
  if (made.load(std::memory_order_acquire) == 2) return ops;
  const BatchOps own = {firstwait_name("fetch", FIRSTWAIT_FETCH),
                        firstwait_name("decode", FIRSTWAIT_DECODE),
                        firstwait_name("transform", FIRSTWAIT_TRANSFORM),
                        firstwait_name("collate", FIRSTWAIT_COLLATE)};
  int expected = 0;
  if (made.compare_exchange_strong(expected, 1)) {
    ops = own;
    made.store(2, std::memory_order_release);
  }
  while (made.load(std::memory_order_acquire) != 2) ::sched_yield();
  return ops;
}

}  // namespace

extern "C" {

int firstwait_open(uint32_t records) {
  if (g_ring.state.load(std::memory_order_acquire) == kUnopened) g_ring.wanted = records;
  return ready() ? 0 : g_ring.error.load(std::memory_order_relaxed);
}

firstwait_op firstwait_name(const char* name, int phase) {
  const auto high = static_cast<uint64_t>(static_cast<uint8_t>(phase)) << 32;
  if (name == nullptr || !ready()) return high;
  const Lock lock;
  return high | intern(name);
}

int64_t firstwait_now(void) { return clock_ns(CLOCK_MONOTONIC); }

void firstwait_span(firstwait_op op, int64_t start) {
  if (ready()) put(kSpan, op, start, clock_ns(CLOCK_MONOTONIC), 0, -1, -1);
}

void firstwait_span_full(firstwait_op op, int64_t start, int64_t end, firstwait_op group,
                         int64_t seq, int64_t bytes, int lane) {
  if (!ready()) return;
  if (end == 0) end = clock_ns(CLOCK_MONOTONIC);
  put(kSpan, op, start, end, static_cast<uint32_t>(group), seq, bytes, static_cast<uint8_t>(lane));
}

int64_t firstwait_begin(firstwait_op op) {
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  if (ready()) put(kBegin, op, now, 0, 0, -1, -1);
  return now;
}

void firstwait_batch_begin(void) {
  if (!ready()) return;
  Batch& b = t_batch;
  b.inside = true;
  b.decode = b.collate = b.part = 0;
  b.waited = waited_for_cpu();
  b.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  b.start = clock_ns(CLOCK_MONOTONIC);
}

void firstwait_batch_part(int phase) {
  if (t_batch.inside)
    t_batch.part = clock_ns(phase == FIRSTWAIT_COLLATE ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

void firstwait_batch_part_end(int phase) {
  Batch& b = t_batch;
  if (!b.inside || b.part == 0) return;
  if (phase == FIRSTWAIT_COLLATE) {
    const int64_t end = clock_ns(CLOCK_MONOTONIC);
    b.collate += end - b.part;
    if (ready()) put(kSpan, batch_ops().collate, b.part, end, 0, -1, -1);
  } else {
    b.decode += clock_ns(CLOCK_THREAD_CPUTIME_ID) - b.part;
  }
  b.part = 0;
}

void firstwait_batch_end(void) {
  Batch& b = t_batch;
  if (!b.inside || !ready()) return;
  b.inside = false;
  const int64_t end = clock_ns(CLOCK_MONOTONIC);
  const int64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - b.cpu;
  const int64_t total = std::max<int64_t>(0, end - b.start - b.collate);
  const int64_t busy = std::clamp<int64_t>(cpu + waited_for_cpu() - b.waited - b.collate, 0, total);
  const int64_t decode = std::min(busy, b.decode);
  const int64_t read = b.start + total - busy;
  const BatchOps& ops = batch_ops();
  put(kSpan, ops.fetch, b.start, read, 0, -1, -1);
  if (decode > 0) put(kSpan, ops.decode, read, read + decode, 0, -1, -1);
  put(kSpan, ops.transform, read + decode, b.start + total, 0, -1, -1);
}

void firstwait_counter(firstwait_op op, double value) {
  if (!ready()) return;
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  put(kCounter, op, now, now, 0, -1, std::bit_cast<int64_t>(value));
}

void firstwait_step(int64_t step, int64_t samples) {
  if (!ready()) return;
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  put(kStep, firstwait_op{FIRSTWAIT_UNEXPLAINED} << 32, now, now, 0, step, samples);
}

void firstwait_setting(const char* key, const char* value) {
  if (key == nullptr || value == nullptr || !ready()) return;
  char text[kMaxName + 1 + kMaxSetting];
  const size_t key_bytes = ::strnlen(key, kMaxName), value_bytes = ::strnlen(value, kMaxSetting);
  std::memcpy(text, key, key_bytes);
  text[key_bytes] = 0;
  std::memcpy(text + key_bytes + 1, value, value_bytes);
  const Lock lock;
  if (g_ring.header->strings_used == 0) add_string(kNameString, "", 0);
  add_string(kSettingString, text, key_bytes + 1 + value_bytes);
}

void firstwait_identity(int rank, int world_size, int local_rank, int role) {
  if (!ready()) return;
  const Lock lock;
  Header* h = g_ring.header;
  // A reader may see one of these before the other; it looks again with every poll.
  const auto set = [](int32_t& field, int value) {
    std::atomic_ref<int32_t>(field).store(value, std::memory_order_relaxed);
  };
  set(h->rank, rank);
  set(h->world_size, world_size);
  set(h->local_rank, local_rank);
  set(h->role, role);
}

}  // extern "C"
