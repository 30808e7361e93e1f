#include "agent/spool.h"

#include <fcntl.h>
#include <isa-l/crc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "collect/file.h"
#include "collect/sampler.h"

namespace firstwait {
namespace {

// In front of each body. Little endian, as all machines that train are.
struct Header {
  char magic[8];
  char kind[16];
  uint64_t size;
  uint32_t crc;
  uint32_t header_crc;
};
constexpr char kMagic[] = "fwspool1";

uint32_t crc_of(const Header& h) {
  return crc32({reinterpret_cast<const char*>(&h), offsetof(Header, header_crc)});
}

bool write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

uint32_t crc32(std::string_view data) {
  return crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(data.data()), data.size());
}

std::string Spool::path(uint64_t sequence) const {
  char name[40];
  std::snprintf(name, sizeof name, "/%020llu.msg", static_cast<unsigned long long>(sequence));
  return directory_ + name;
}

Result<Spool> Spool::open(const std::string& directory, size_t max_bytes) {
  Spool spool;
  spool.directory_ = directory;
  spool.max_bytes_ = std::max<size_t>(max_bytes, 64 << 10);
  // Numbers never come twice, so that a receiver can tell a message that it took already: they
  // count on from the time.
  spool.next_ = static_cast<uint64_t>(std::max<Ns>(system_now() / 1000, 1));
  if (directory.empty()) return spool;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return Error{std::string("the spool cannot be made: ") + std::strerror(errno), directory,
                 "make its parent directory"};
  if (::access(directory.c_str(), W_OK | X_OK) != 0)
    return Error{"the spool cannot be written", directory,
                 "give the agent's user the right to write there"};
  for (const std::string& name : list_directory(directory, 1'000'000)) {
    if (name.ends_with(".tmp"))
      ::unlink((directory + "/" + name).c_str());  // it was being written when the process died
    if (!name.ends_with(".msg") || name.size() != 24) continue;
    const auto sequence = parse_int(name.substr(0, 20));
    struct stat status {};
    if (!sequence || *sequence <= 0 || ::stat((directory + "/" + name).c_str(), &status) != 0)
      continue;
    spool.entries_.push_back(
        {static_cast<uint64_t>(*sequence), static_cast<size_t>(status.st_size), "", std::nullopt});
    spool.counts_.bytes += static_cast<size_t>(status.st_size);
    spool.next_ = std::max(spool.next_, static_cast<uint64_t>(*sequence) + 1);
  }
  spool.counts_.waiting = spool.entries_.size();
  while (spool.counts_.bytes > spool.max_bytes_ && !spool.entries_.empty()) spool.drop_oldest();
  return spool;
}

bool Spool::write(const Entry& entry, const std::string& body) const {
  if (directory_.empty()) return false;
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof h.magic);
  std::snprintf(h.kind, sizeof h.kind, "%s", entry.kind.c_str());
  h.size = body.size();
  h.crc = crc32(body);
  h.header_crc = crc_of(h);
  const std::string final_path = path(entry.sequence), temporary = final_path + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool good = write_all(fd, reinterpret_cast<const char*>(&h), sizeof h) &&
              write_all(fd, body.data(), body.size());
  // No fsync: a killed process loses nothing without it, and after a power failure the checksum
  // tells.
  good = ::close(fd) == 0 && good;
  good = good && ::rename(temporary.c_str(), final_path.c_str()) == 0;
  if (!good) ::unlink(temporary.c_str());
  return good;
}

void Spool::forget(size_t at) {
  const Entry& e = entries_[at];
  counts_.bytes -= e.bytes;
  if (!e.body && !directory_.empty()) ::unlink(path(e.sequence).c_str());
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(at));
  counts_.waiting = entries_.size();
}

void Spool::drop_oldest() {
  ++counts_.dropped_full;
  forget(0);
}

void Spool::put(std::string kind, std::string body) {
  const size_t bytes = body.size() + sizeof(Header);
  if (bytes > max_bytes_) {
    ++counts_.dropped_full;
    return;
  }
  while (counts_.bytes + bytes > max_bytes_ && !entries_.empty()) drop_oldest();
  Entry entry{next_++, bytes, std::move(kind), std::nullopt};
  if (!write(entry, body)) {
    // In memory no more than this: the disk's bound is not the memory's.
    constexpr size_t kInMemory = size_t{4} << 20;
    size_t held = bytes;
    for (const Entry& e : entries_) held += e.body ? e.bytes : 0;
    while (held > kInMemory) {
      const auto oldest = std::find_if(entries_.begin(), entries_.end(),
                                       [](const Entry& e) { return e.body.has_value(); });
      if (oldest == entries_.end()) break;
      held -= oldest->bytes;
      ++counts_.dropped_full;
      forget(static_cast<size_t>(oldest - entries_.begin()));
    }
    if (held > kInMemory) {
      ++counts_.dropped_full;
      return;
    }
    entry.body = std::move(body);
  }
  counts_.bytes += bytes;
  entries_.push_back(std::move(entry));
  counts_.waiting = entries_.size();
}

std::optional<SpoolMessage> Spool::front() {
  while (!entries_.empty()) {
    Entry& e = entries_.front();
    if (e.body) return SpoolMessage{e.sequence, e.kind, *e.body};
    auto text = read_whole(path(e.sequence), max_bytes_ + sizeof(Header));
    Header h{};
    if (text && text->size() >= sizeof h) {
      std::memcpy(&h, text->data(), sizeof h);
      const bool sound = std::memcmp(h.magic, kMagic, sizeof h.magic) == 0 &&
                         h.header_crc == crc_of(h) && h.size == text->size() - sizeof h;
      std::string body = sound ? text->substr(sizeof h) : std::string();
      if (sound && crc32(body) == h.crc)
        return SpoolMessage{e.sequence, std::string(h.kind, ::strnlen(h.kind, sizeof h.kind)),
                            std::move(body)};
    }
    ++counts_.dropped_damaged;
    forget(0);
  }
  return std::nullopt;
}

void Spool::remove(uint64_t sequence) {
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].sequence == sequence) return forget(i);
}

}  // namespace firstwait
