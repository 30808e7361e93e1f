#include "ring.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lab {
namespace {

sockaddr_in address_of(const Params& p, int rank) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<uint16_t>(p.port + rank));
  const std::string text =
      p.addresses.empty() ? "127.0.0.1" : p.addresses[static_cast<size_t>(rank)];
  ::inet_pton(AF_INET, text.c_str(), &a.sin_addr);
  return a;
}

void tune(int fd) {
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // What training clusters run. BBR, the default on some machines, does not slow down on loss.
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

bool Ring::connect(const Params& p, int rank) {
  ranks_ = p.ranks;
  rank_ = rank;
  if (ranks_ == 1) return true;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in own = address_of(p, rank);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 ||
      ::listen(listener, 4) != 0) {
    ::close(listener);
    return false;
  }
  sockaddr_in to = address_of(p, (rank + 1) % ranks_);
  for (int tries = 0; tries < 600 && next_ < 0; ++tries) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
      next_ = fd;
    } else {
      ::close(fd);
      ::usleep(100'000);
    }
  }
  pollfd ready{listener, POLLIN, 0};
  if (next_ >= 0 && ::poll(&ready, 1, 60'000) > 0) previous_ = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  if (previous_ < 0) return false;
  tune(next_);
  tune(previous_);
  return true;
}

Ring::~Ring() {
  if (next_ >= 0) ::close(next_);
  if (previous_ >= 0) ::close(previous_);
}

// Sends and receives at once: with blocking calls all ranks would wait in send.
bool Ring::exchange(const float* out, size_t out_count, float* in, size_t in_count) {
  const auto* from = reinterpret_cast<const char*>(out);
  auto* to = reinterpret_cast<char*>(in);
  size_t unsent = out_count * sizeof(float), missing = in_count * sizeof(float);
  while (unsent > 0 || missing > 0) {
    pollfd fds[2] = {{unsent > 0 ? next_ : -1, POLLOUT, 0},
                     {missing > 0 ? previous_ : -1, POLLIN, 0}};
    if (::poll(fds, 2, 120'000) <= 0) return false;
    if (fds[0].revents != 0) {
      const ssize_t n = ::send(next_, from, unsent, MSG_NOSIGNAL);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (n > 0) from += n, unsent -= static_cast<size_t>(n);
    }
    if (fds[1].revents != 0) {
      const ssize_t n = ::recv(previous_, to, missing, 0);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
      if (n > 0) to += n, missing -= static_cast<size_t>(n);
    }
  }
  return true;
}

bool Ring::all_reduce(std::vector<float>& values) {
  if (ranks_ == 1) return true;
  const auto n = static_cast<size_t>(ranks_), own = static_cast<size_t>(rank_);
  const auto begin = [&](size_t chunk) { return values.size() * chunk / n; };
  received_.resize(values.size() / n + 1);
  for (size_t round = 0; round < 2 * (n - 1); ++round) {
    const size_t send = (own + 2 * n - round) % n;
    const size_t receive = (send + n - 1) % n;
    const size_t at = begin(receive), count = begin(receive + 1) - at;
    const bool reducing = round < n - 1;
    float* into = reducing ? received_.data() : values.data() + at;
    if (!exchange(values.data() + begin(send), begin(send + 1) - begin(send), into, count))
      return false;
    if (reducing)
      for (size_t i = 0; i < count; ++i) values[at + i] += received_[i];
  }
  return true;
}

}  // namespace lab
