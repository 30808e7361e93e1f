// NCCL's public profiler plugin interface, versions 1 to 5, declared from its documentation: only
// the fields that are read, at their places. NCCL looks for the symbols ncclProfiler_v5, _v4 … _v1
// and takes the first that it knows.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace firstwait::nccl {

using Result = int;  // 0: success
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

enum EventType : uint64_t {
  kGroup = 1 << 0,
  kColl = 1 << 1,
  kP2p = 1 << 2,
  kProxyOp = 1 << 3,
  kProxyStep = 1 << 4,
  kProxyCtrl = 1 << 5,
  kKernelChannel = 1 << 6,
  kNetPlugin = 1 << 7
};

struct ProxyOp {
  pid_t pid;
  uint8_t channel;
  int peer, steps, chunk_bytes, is_send;
};
struct ProxyStep {
  int step;
};
struct KernelChannel {
  uint8_t channel;
};

struct CollV1 {
  const char* name;
  uint64_t comm;
  uint64_t seq;
  uint8_t func;
  const void* send;
  void* receive;
  size_t count;
  int root;
  uint8_t datatype;
};
struct P2pV1 {
  const char* name;
  uint64_t comm;
  uint8_t func;
  void* buffer;
  uint8_t datatype;
  size_t count;
  int peer;
};
// Version 3 has the same first fields.
struct CollV2 {
  const char* name;
  uint64_t comm;
  uint64_t seq;
  const char* func;
  const void* send;
  void* receive;
  size_t count;
  int root;
  const char* datatype;
};
struct P2pV2 {
  const char* name;
  uint64_t comm;
  const char* func;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
};
// Version 5 has the same first fields.
struct CollV4 {
  uint64_t seq;
  const char* func;
  const void* send;
  void* receive;
  size_t count;
  int root;
  const char* datatype;
};
struct P2pV4 {
  const char* func;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
};

template <typename Type, typename Coll, typename P2p>
struct Descriptor {
  Type type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelChannel kernel;
    uint64_t align;
  };
};
using DescriptorV1 = Descriptor<uint8_t, CollV1, P2pV1>;
using DescriptorV2 = Descriptor<uint8_t, CollV2, P2pV2>;
using DescriptorV4 = Descriptor<uint8_t, CollV4, P2pV4>;
using DescriptorV5 = Descriptor<uint64_t, CollV4, P2pV4>;

// Versions 1 to 3.
template <typename D>
struct ProfilerV1 {
  const char* name;
  Result (*init)(void** context, int* mask);
  Result (*start)(void* context, void** event, D* descriptor);
  Result (*stop)(void* event);
  Result (*record)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};
struct ProfilerV4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* comm_name, uint64_t comm, int nodes,
                 int ranks, int rank, Logger);
  Result (*start)(void* context, void** event, DescriptorV4* descriptor);
  Result (*stop)(void* event);
  Result (*record)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};
struct ProfilerV5 {
  const char* name;
  Result (*init)(void** context, uint64_t comm, int* mask, const char* comm_name, int nodes,
                 int ranks, int rank, Logger);
  Result (*start)(void* context, void** event, DescriptorV5* descriptor);
  Result (*stop)(void* event);
  Result (*record)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};

}  // namespace firstwait::nccl

extern "C" {
extern __attribute__((visibility("default")))
firstwait::nccl::ProfilerV1<firstwait::nccl::DescriptorV1>
    ncclProfiler_v1;
extern __attribute__((visibility("default")))
firstwait::nccl::ProfilerV1<firstwait::nccl::DescriptorV2>
    ncclProfiler_v2;
extern __attribute__((visibility("default")))
firstwait::nccl::ProfilerV1<firstwait::nccl::DescriptorV2>
    ncclProfiler_v3;
extern __attribute__((visibility("default"))) firstwait::nccl::ProfilerV4 ncclProfiler_v4;
extern __attribute__((visibility("default"))) firstwait::nccl::ProfilerV5 ncclProfiler_v5;
}
