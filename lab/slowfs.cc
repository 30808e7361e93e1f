// lab-slowfs SOURCE CONTROL MOUNTPOINT: shows a folder read-only through FUSE, as slow as the
// control file says: "READ_MS OPEN_MS BYTES_PER_SECOND", read again when it changes. Stands for a
// remote file system whose server got slow.
#define FUSE_USE_VERSION 31
#define _FILE_OFFSET_BITS 64  // NOLINT(bugprone-reserved-identifier): fuse.h asks for it
#include <dirent.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

namespace {

std::string g_source, g_control;

struct Slowness {
  double read_ms = 0, open_ms = 0, bytes_per_second = 0;
};

Slowness slowness() {
  static std::mutex lock;
  static Slowness known;
  static timespec seen{};
  const std::lock_guard guard(lock);
  struct stat s {};
  if (::stat(g_control.c_str(), &s) != 0) return known;
  if (s.st_mtim.tv_sec == seen.tv_sec && s.st_mtim.tv_nsec == seen.tv_nsec) return known;
  seen = s.st_mtim;
  known = {};
  if (std::FILE* file = std::fopen(g_control.c_str(), "re")) {
    if (std::fscanf(file, "%lf %lf %lf", &known.read_ms, &known.open_ms, &known.bytes_per_second) <
        1)
      known = {};
    std::fclose(file);
  }
  return known;
}

double now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void wait_for(double seconds) {
  if (seconds <= 0) return;
  timespec t{
      static_cast<time_t>(seconds),
      static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  while (::nanosleep(&t, &t) != 0) continue;
}

// One server for all readers: what they ask for is sent one after the other.
void send_bytes(size_t bytes, double per_second) {
  static std::mutex lock;
  static double free_at = 0;
  if (per_second <= 0) return;
  double until = 0;
  {
    const std::lock_guard guard(lock);
    free_at = std::max(free_at, now()) + static_cast<double>(bytes) / per_second;
    until = free_at;
  }
  wait_for(until - now());
}

std::string at(const char* path) { return g_source + path; }
int result(int64_t r) { return r < 0 ? -errno : static_cast<int>(r); }

int on_getattr(const char* path, struct stat* out, fuse_file_info*) {
  return result(::lstat(at(path).c_str(), out));
}

int on_readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*,
               fuse_readdir_flags) {
  DIR* folder = ::opendir(at(path).c_str());
  if (folder == nullptr) return -errno;
  while (const dirent* entry = ::readdir(folder))
    fill(buffer, entry->d_name, nullptr, 0, fuse_fill_dir_flags{});
  ::closedir(folder);
  return 0;
}

int on_open(const char* path, fuse_file_info* info) {
  wait_for(slowness().open_ms / 1e3);
  const int fd = ::open(at(path).c_str(), O_RDONLY);
  info->fh = static_cast<uint64_t>(fd);
  info->direct_io = 1;  // each read of the job reaches this program
  return result(fd) < 0 ? -errno : 0;
}

int on_read(const char*, char* buffer, size_t bytes, off_t offset, fuse_file_info* info) {
  const Slowness slow = slowness();
  wait_for(slow.read_ms / 1e3);
  send_bytes(bytes, slow.bytes_per_second);
  return result(::pread(static_cast<int>(info->fh), buffer, bytes, offset));
}

int on_release(const char*, fuse_file_info* info) {
  return result(::close(static_cast<int>(info->fh)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: lab-slowfs SOURCE CONTROL MOUNTPOINT\n");
    return 2;
  }
  g_source = argv[1];
  g_control = argv[2];
  fuse_operations operations{};
  operations.getattr = on_getattr;
  operations.readdir = on_readdir;
  operations.open = on_open;
  operations.read = on_read;
  operations.release = on_release;
  char option[] = "-oauto_unmount,allow_other", foreground[] = "-f";
  char* arguments[] = {argv[0], argv[3], foreground, option, nullptr};
  return fuse_main(4, arguments, &operations, nullptr);
}
