// Reading the kernel's answer to a netlink dump.
#pragma once
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace firstwait {

enum class DumpEnd : uint8_t { done, refused, broken };

// Calls `each(nlmsghdr&)` for every message with this sequence number, to the end of the dump.
template <typename F>
DumpEnd read_dump(int fd, uint32_t sequence, F each) {
  alignas(nlmsghdr) char buffer[32 << 10];
  for (;;) {
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return DumpEnd::broken;
    auto left = static_cast<unsigned>(n);
    for (auto* h = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(h, left);
         h = NLMSG_NEXT(h, left)) {
      if (h->nlmsg_seq != sequence) continue;
      if (h->nlmsg_type == NLMSG_DONE) return DumpEnd::done;
      if (h->nlmsg_type == NLMSG_ERROR) return DumpEnd::refused;
      each(*h);
    }
  }
}

}  // namespace firstwait
