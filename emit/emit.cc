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
  h->anchor_monotonic = clock_ns(CLOCK_MONOTONIC);
  h->anchor_realtime = clock_ns(CLOCK_REALTIME);
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
inline void put(Record& r) {
  r.thread = thread_id();
  r.reserved = 0;
  const uint64_t index = atomic(g_ring.header->head).fetch_add(1, std::memory_order_relaxed);
  r.sequence = index + 1;
  uint64_t words[kWords];
  std::memcpy(words, &r, sizeof words);
  words[kWords - 1] = check_of(words);
  uint64_t* slot = g_ring.words + (index & g_ring.mask) * kWords;
  for (size_t i = 1; i < kWords; ++i) atomic(slot[i]).store(words[i], std::memory_order_relaxed);
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

inline uint32_t name_of(firstwait_op op) { return static_cast<uint32_t>(op); }
inline uint8_t phase_of(firstwait_op op) { return static_cast<uint8_t>(op >> 32); }

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
  if (!ready()) return;
  Record r{0,  start, clock_ns(CLOCK_MONOTONIC), name_of(op), kSpan, phase_of(op), 0, 0, 0, 0, -1,
           -1, 0};
  put(r);
}

void firstwait_span_full(firstwait_op op, int64_t start, int64_t end, firstwait_op group,
                         int64_t seq, int64_t bytes, int lane) {
  if (!ready()) return;
  if (end == 0) end = clock_ns(CLOCK_MONOTONIC);
  Record r{0, start,          end, name_of(op), kSpan, phase_of(op), static_cast<uint8_t>(lane), 0,
           0, name_of(group), seq, bytes,       0};
  put(r);
}

int64_t firstwait_begin(firstwait_op op) {
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  if (!ready()) return now;
  Record r{0, now, 0, name_of(op), kBegin, phase_of(op), 0, 0, 0, 0, -1, -1, 0};
  put(r);
  return now;
}

void firstwait_counter(firstwait_op op, double value) {
  if (!ready()) return;
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  Record r{0, now, now, name_of(op), kCounter, phase_of(op),
           0, 0,   0,   0,           -1,       std::bit_cast<int64_t>(value),
           0};
  put(r);
}

void firstwait_step(int64_t step, int64_t samples) {
  if (!ready()) return;
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  Record r{0, now, now, 0, kStep, FIRSTWAIT_UNEXPLAINED, 0, 0, 0, 0, step, samples, 0};
  put(r);
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
