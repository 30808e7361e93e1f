#include "collect/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace firstwait {

void File::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::optional<std::string_view> File::read(std::string& buffer) {
  constexpr size_t kFirst = 64 << 10;
  if (buffer.size() < kFirst) buffer.resize(kFirst);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const bool fresh = fd_ < 0;
    // NONBLOCK: a FIFO in the place of a file must not stop the sampler.
    if (fresh) fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) {
      error_ = errno;
      return std::nullopt;
    }
    size_t size = 0;
    for (;;) {
      if (size == buffer.size()) {
        if (size >= kLimit) break;
        buffer.resize(size * 2);
      }
      const ssize_t n =
          ::pread(fd_, buffer.data() + size, buffer.size() - size, static_cast<off_t>(size));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        error_ = errno;
        close();
        size = 0;
        break;
      }
      size += static_cast<size_t>(n);
      if (n == 0 || small_) {
        error_ = 0;
        return std::string_view(buffer.data(), size);
      }
    }
    if (size >= kLimit) {
      error_ = EFBIG;
      return std::nullopt;
    }
    if (fresh) return std::nullopt;  // else: what was open is gone; try what is there now
  }
  return std::nullopt;
}

std::vector<std::string> list_directory(const std::string& path, size_t limit) {
  std::vector<std::string> out;
  DIR* dir = ::opendir(path.c_str());
  if (dir == nullptr) return out;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    out.emplace_back(name);
    if (out.size() >= limit) break;
  }
  ::closedir(dir);
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::string> read_whole(const std::string& path, size_t limit) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string out;
  char chunk[16384];
  ssize_t n = 0;
  while (out.size() < limit &&
         ((n = ::read(fd, chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR)))
    if (n > 0) out.append(chunk, static_cast<size_t>(n));
  ::close(fd);
  if (n < 0 && out.empty()) return std::nullopt;
  if (out.size() > limit) out.resize(limit);
  return out;
}

std::optional<std::string> read_line(const std::string& path) {
  const auto text = read_whole(path, 4096);
  if (!text) return std::nullopt;
  return std::string(trim(std::string_view(*text).substr(0, text->find('\n'))));
}

}  // namespace firstwait
