// A file that is read again and again: opened once, read from its start with pread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace firstwait {

class File {
 public:
  // `small`: one read is known to return all of it (a value in sysfs).
  explicit File(std::string path, bool small = false) : path_(std::move(path)), small_(small) {}
  ~File() { close(); }
  File(File&& other) noexcept
      : path_(std::move(other.path_)), fd_(other.fd_), error_(other.error_), small_(other.small_) {
    other.fd_ = -1;
  }
  File& operator=(File&& other) noexcept {
    if (this != &other) {
      close();
      path_ = std::move(other.path_);
      fd_ = other.fd_;
      error_ = other.error_;
      small_ = other.small_;
      other.fd_ = -1;
    }
    return *this;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // The text lies in `buffer` until it is used again. Nothing when the file cannot be read: error()
  // says why. A file that was replaced or vanished is opened anew by the next read.
  std::optional<std::string_view> read(std::string& buffer);
  int error() const { return error_; }
  const std::string& path() const { return path_; }

 private:
  void close();
  static constexpr size_t kLimit = 8 << 20;  // what no /proc file of a sane machine reaches
  std::string path_;
  int fd_ = -1;
  int error_ = 0;
  bool small_;
};

// Names in a directory, sorted; empty when it cannot be read. "." and ".." are left out.
std::vector<std::string> list_directory(const std::string& path, size_t limit = 65536);
// The first line of a small file without blanks around it; nothing when it cannot be read.
std::optional<std::string> read_line(const std::string& path);
std::optional<std::string> read_whole(const std::string& path, size_t limit = 1 << 20);

}  // namespace firstwait
