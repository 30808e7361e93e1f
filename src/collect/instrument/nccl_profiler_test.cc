// Loads the NCCL profiler plugin as NCCL does: by dlopen, then the symbols of the versions. The
// descriptors are declared here a second time, whole and from NCCL's documentation, so that a field
// at a wrong place in the plugin shows.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "collect/instrument/rings.h"
#include "firstwait/emit.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;

enum { kColl = 2, kP2p = 4, kProxyOp = 8, kProxyStep = 16, kKernelCh = 64, kGroupApi = 256 };

struct KernelCh {
  uint8_t channelId;
  uint64_t pTimer;
};
struct Proxy {
  pid_t pid;
  uint8_t channelId;
  int peer, nSteps, chunkSize, isSend;
};

struct DescriptorV1 {
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash, seqNumber;
      uint8_t func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      uint8_t datatype;
      uint32_t op;
      size_t trafficBytes;
      uint8_t nMaxChannels, nWarps, algo, proto;
      int isCollnet, isNvls;
    } coll;
    Proxy proxyOp;
  };
};
struct DescriptorV3 {  // version 2 has trafficBytes behind datatype
  uint8_t type;
  void* parentObj;
  int rank;
  union {
    struct {
      const char* name;
      uint64_t commHash, seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nMaxChannels, nWarps;
      const char *algo, *proto;
    } coll;
    struct {
      const char* name;
      uint64_t commHash;
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
    } p2p;
    Proxy proxyOp;
    KernelCh kernelCh;
  };
};
template <typename Type>
struct DescriptorV45 {
  Type type;
  void* parentObj;
  int rank;
  union {
    struct {
      uint64_t seqNumber;
      const char* func;
      void const* sendBuff;
      void* recvBuff;
      size_t count;
      int root;
      const char* datatype;
      uint8_t nChannels, nWarps;
      const char *algo, *proto;
      void* parentGroup;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t nChannels;
      void* parentGroup;
    } p2p;
    Proxy proxyOp;
    struct {
      int step;
    } proxyStep;
    KernelCh kernelCh;
  };
};
using DescriptorV4 = DescriptorV45<uint8_t>;
using DescriptorV5 = DescriptorV45<uint64_t>;

using Log = void (*)(int, unsigned long, const char*, int, const char*, ...);
template <typename Init, typename D>
struct Profiler {
  const char* name;
  Init init;
  int (*startEvent)(void*, void**, D*);
  int (*stopEvent)(void*);
  int (*recordEventState)(void*, int, void*);
  int (*finalize)(void*);
};
using InitOld = int (*)(void**, int*);
using InitV4 = int (*)(void**, int*, const char*, uint64_t, int, int, int, Log);
using InitV5 = int (*)(void**, uint64_t, int*, const char*, int, int, int, Log);

class NcclPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "nccl.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  struct Span {
    std::string op, group;
    int phase, lane;
    Ns start, end;
    int64_t seq, bytes;
  };
  // `body` runs in a process of its own, with the plugin loaded; what it left in its ring.
  template <typename Body>
  std::vector<Span> spans(Body body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setenv("FIRSTWAIT_DIR", folder_.c_str(), 1);
      void* plugin = ::dlopen(FIRSTWAIT_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
      if (plugin == nullptr) ::_exit(9);
      body(plugin);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    std::vector<Span> out;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      auto ring = RingReader::open(entry.path().string());
      if (!ring.ok()) continue;
      std::vector<RingRecord> records;
      std::vector<RingSetting> settings;
      ring->poll(0, true, records, settings);
      for (const auto& r : records)
        out.push_back({std::string(ring->name(r.name)), std::string(ring->name(r.group)), r.phase,
                       r.lane, r.start, r.end, r.seq, r.value});
    }
    return out;
  }
  template <typename P>
  static P& profiler(void* plugin, const char* symbol) {
    auto* p = static_cast<P*>(::dlsym(plugin, symbol));
    if (p == nullptr) ::_exit(8);
    return *p;
  }
  static void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

  std::string folder_;
};

// Two collectives: the host enqueues both at once, the kernels run one after the other on two
// channels.
template <typename D, typename P>
void two_collectives(P& p, void* context, const auto& describe) {
  void* coll[2] = {};
  for (int i = 0; i < 2; ++i) {
    D d{};
    d.type = kColl;
    describe(d, i);
    p.startEvent(context, &coll[i], &d);
    if (coll[i] == nullptr) ::_exit(7);
    p.stopEvent(coll[i]);
  }
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    void* channel[2] = {};
    for (uint8_t c = 0; c < 2; ++c) {
      D d{};
      d.type = kKernelCh;
      d.parentObj = coll[i];
      d.kernelCh.channelId = c;
      p.startEvent(context, &channel[c], &d);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * (i + 1)));
    for (void* c : channel) {
      p.recordEventState(c, 19, nullptr);
      p.stopEvent(c);
    }
  }
  p.finalize(context);
}

void expect_two(const auto& spans, const std::string& group) {
  ASSERT_EQ(spans.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(spans[i].op, "all_reduce");
    EXPECT_EQ(spans[i].group, group);
    EXPECT_EQ(spans[i].phase, FIRSTWAIT_COLLECTIVE);
    EXPECT_EQ(spans[i].lane, FIRSTWAIT_BACKGROUND);
    EXPECT_EQ(spans[i].seq, 40 + static_cast<int64_t>(i));
    EXPECT_EQ(spans[i].bytes, 4000);
    EXPECT_GE(spans[i].end - spans[i].start,
              static_cast<Ns>(20'000'000 * (i + 1)));  // the kernel's time
  }
  EXPECT_GE(spans[1].start, spans[0].end);
}

TEST_F(NcclPlugin, Version5TellsWhenKernelsRan) {
  const auto found = spans([](void* plugin) {
    auto& p = profiler<Profiler<InitV5, DescriptorV5>>(plugin, "ncclProfiler_v5");
    void* context = nullptr;
    int mask = 0;
    p.init(&context, 0xabc, &mask, "tp", 1, 8, 3, nullptr);
    if (mask != (kColl | kP2p | kKernelCh)) ::_exit(6);
    two_collectives<DescriptorV5>(p, context, [](DescriptorV5& d, int i) {
      d.coll.seqNumber = 40 + static_cast<uint64_t>(i);
      d.coll.func = "AllReduce";
      d.coll.count = 1000;
      d.coll.datatype = "ncclFloat32";
    });
  });
  expect_two(found, "nccl 0000000000000abc tp");
}

TEST_F(NcclPlugin, Version4TellsTheSame) {
  const auto found = spans([](void* plugin) {
    auto& p = profiler<Profiler<InitV4, DescriptorV4>>(plugin, "ncclProfiler_v4");
    void* context = nullptr;
    int mask = 0;
    p.init(&context, &mask, nullptr, 0xabc, 1, 8, 3, nullptr);
    two_collectives<DescriptorV4>(p, context, [](DescriptorV4& d, int i) {
      d.coll.seqNumber = 40 + static_cast<uint64_t>(i);
      d.coll.func = "AllReduce";
      d.coll.count = 1000;
      d.coll.datatype = "ncclFloat32";
    });
  });
  expect_two(found, "nccl 0000000000000abc");
}

TEST_F(NcclPlugin, Versions2And3NameTheCommunicatorInTheEvent) {
  for (const char* symbol : {"ncclProfiler_v2", "ncclProfiler_v3"}) {
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
    const auto found = spans([symbol](void* plugin) {
      auto& p = profiler<Profiler<InitOld, DescriptorV3>>(plugin, symbol);
      void* context = nullptr;
      int mask = 0;
      p.init(&context, &mask);
      two_collectives<DescriptorV3>(p, context, [](DescriptorV3& d, int i) {
        d.coll.name = "dp";
        d.coll.commHash = 0x12;
        d.coll.seqNumber = 40 + static_cast<uint64_t>(i);
        d.coll.func = "AllReduce";
        d.coll.count = 1000;
        d.coll.datatype = "ncclFloat32";
      });
    });
    expect_two(found, "nccl 0000000000000012 dp");
  }
}

TEST_F(NcclPlugin, Version1HasNumbersForNamesAndNetworkOperationsForKernels) {
  const auto found = spans([](void* plugin) {
    auto& p = profiler<Profiler<InitOld, DescriptorV1>>(plugin, "ncclProfiler_v1");
    void* context = nullptr;
    int mask = 0;
    p.init(&context, &mask);
    if (mask != (kColl | kP2p | kProxyOp)) ::_exit(6);
    DescriptorV1 d{};
    d.type = kColl;
    d.coll.commHash = 1;
    d.coll.seqNumber = 9;
    d.coll.func = 2;
    d.coll.count = 10;
    d.coll.datatype = 8;
    void* coll = nullptr;
    p.startEvent(context, &coll, &d);
    p.stopEvent(coll);
    void* network = nullptr;
    DescriptorV1 n{};
    n.type = kProxyOp;
    n.parentObj = coll;
    n.proxyOp = {::getpid(), 1, 0, 4, 1000, 1};
    p.startEvent(context, &network, &n);
    wait_ms(20);
    p.stopEvent(network);
    n.proxyOp.pid = 1;  // of another process: its parent is not ours
    n.parentObj = reinterpret_cast<void*>(uintptr_t{0x1234});
    p.startEvent(context, &network, &n);
    if (network != nullptr) ::_exit(5);
    p.finalize(context);
  });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].op, "proxy send");
  EXPECT_EQ(found[0].bytes, 4000);
  EXPECT_EQ(found[1].op, "all_gather");
  EXPECT_EQ(found[1].bytes, 80);
  EXPECT_EQ(found[1].seq, 9);
  EXPECT_GE(found[1].end - found[1].start, 20'000'000);
}

TEST_F(NcclPlugin, PointToPointAndProxyStepsWhenWanted) {
  const auto found = spans([](void* plugin) {
    ::setenv("FIRSTWAIT_NCCL", "proxy_steps", 1);
    auto& p = profiler<Profiler<InitV5, DescriptorV5>>(plugin, "ncclProfiler_v5");
    void* context = nullptr;
    int mask = 0;
    p.init(&context, 7, &mask, "pp", 2, 2, 0, nullptr);
    if ((mask & (kProxyOp | kProxyStep)) != (kProxyOp | kProxyStep)) ::_exit(6);
    DescriptorV5 d{};
    d.type = kP2p;
    d.p2p.func = "Send";
    d.p2p.datatype = "ncclBfloat16";
    d.p2p.count = 50;
    void *send = nullptr, *op = nullptr, *step = nullptr;
    p.startEvent(context, &send, &d);
    p.stopEvent(send);
    DescriptorV5 o{};
    o.type = kProxyOp;
    o.parentObj = send;
    o.proxyOp = {::getpid(), 0, 1, 1, 100, 1};
    p.startEvent(context, &op, &o);
    DescriptorV5 s{};
    s.type = kProxyStep;
    s.parentObj = op;
    s.proxyStep.step = 3;
    p.startEvent(context, &step, &s);
    wait_ms(5);
    p.stopEvent(step);
    p.stopEvent(op);
    p.finalize(context);
  });
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].op, "proxy step");
  EXPECT_EQ(found[0].seq, 3);
  EXPECT_EQ(found[1].op, "proxy send");
  EXPECT_EQ(found[2].op, "send");
  EXPECT_EQ(found[2].phase, FIRSTWAIT_P2P);
  EXPECT_EQ(found[2].bytes, 100);
}

TEST_F(NcclPlugin, UnknownEventsAndTooManyAreLeftOut) {
  const auto found = spans([](void* plugin) {
    auto& p = profiler<Profiler<InitV5, DescriptorV5>>(plugin, "ncclProfiler_v5");
    void* context = nullptr;
    int mask = 0;
    p.init(&context, 7, &mask, nullptr, 1, 1, 0, nullptr);
    void* event = &mask;
    DescriptorV5 d{};
    d.type = kGroupApi;
    p.startEvent(context, &event, &d);
    if (event != nullptr) ::_exit(5);
    p.stopEvent(nullptr);
    p.recordEventState(nullptr, 0, nullptr);
    d.type = kKernelCh;  // without a parent
    p.startEvent(context, &event, &d);
    if (event != nullptr) ::_exit(4);
    for (uint64_t i = 0; i < 1000; ++i) {  // never run: only ever enqueued
      DescriptorV5 c{};
      c.type = kColl;
      c.coll.seqNumber = i;
      c.coll.func = "AllReduce";
      p.startEvent(context, &event, &c);
      p.stopEvent(event);
    }
    p.finalize(context);
  });
  ASSERT_EQ(found.size(), 1000U);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].seq, static_cast<int64_t>(i));
}

TEST_F(NcclPlugin, WhereNobodyRecordsNoEventIsAskedFor) {
  const auto found = spans([](void* plugin) {
    ::unsetenv("FIRSTWAIT_DIR");
    auto& p = profiler<Profiler<InitV5, DescriptorV5>>(plugin, "ncclProfiler_v5");
    void* context = &context;
    int mask = 7;
    if (p.init(&context, 7, &mask, nullptr, 1, 1, 0, nullptr) != 0 || mask != 0) ::_exit(5);
    p.finalize(context);
  });
  EXPECT_TRUE(found.empty());
}

TEST_F(NcclPlugin, NcclsOwnThreadsMayCallAtOnce) {
  const auto found = spans([](void* plugin) {
    auto& p = profiler<Profiler<InitV5, DescriptorV5>>(plugin, "ncclProfiler_v5");
    void* context = nullptr;
    int mask = 0;
    p.init(&context, 7, &mask, nullptr, 1, 1, 0, nullptr);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          void *coll = nullptr, *kernel = nullptr;
          DescriptorV5 d{};
          d.type = kColl;
          d.coll.func = "AllGather";
          p.startEvent(context, &coll, &d);
          DescriptorV5 k{};
          k.type = kKernelCh;
          k.parentObj = coll;
          p.startEvent(context, &kernel, &k);
          p.stopEvent(coll);
          p.stopEvent(kernel);
        }
      });
    for (auto& thread : threads) thread.join();
    p.finalize(context);
  });
  EXPECT_EQ(found.size(), 2000U);
}

}  // namespace
}  // namespace firstwait
