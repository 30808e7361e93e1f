#include "collect/instrument/rings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/saturate.h"
#include "emit/layout.h"

namespace firstwait {
namespace {

constexpr Ns kPatience = 1'000'000'000;
constexpr size_t kChunk = 4096;  // records read at once: 256 KiB

// All of it or nothing. A file that was cut after it was mapped would be a fault; read, it is only
// short.
bool read_at(int file, void* to, size_t bytes, uint64_t offset) {
  auto* p = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(file, p, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool plausible(const ring::Header& h, uint64_t file_bytes) {
  if (std::memcmp(h.magic, ring::kMagic, sizeof h.magic) != 0) return false;
  if (h.header_bytes != ring::kHeaderBytes || h.record_bytes != ring::kRecordBytes) return false;
  if (h.capacity < ring::kLeastRecords || h.capacity > ring::kMostRecords ||
      (h.capacity & (h.capacity - 1)) != 0)
    return false;
  const uint64_t records_end =
      ring::kHeaderBytes + static_cast<uint64_t>(h.capacity) * ring::kRecordBytes;
  return h.strings_offset == records_end && h.strings_bytes <= ring::kStringsBytes &&
         file_bytes >= records_end + h.strings_bytes;
}

}  // namespace

ClockPair ClockPair::now() {
  timespec monotonic{}, epoch{};
  ::clock_gettime(CLOCK_MONOTONIC, &monotonic);
  ::clock_gettime(CLOCK_REALTIME, &epoch);
  const auto ns = [](const timespec& t) { return Ns{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return {ns(monotonic), ns(epoch)};
}

Result<RingReader> RingReader::open(const std::string& path, std::optional<ClockPair> clock) {
  RingReader reader;
  reader.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (reader.file_ < 0) return Error{std::strerror(errno), path, ""};
  struct stat status {};
  ring::Header header{};
  if (::fstat(reader.file_, &status) != 0 || !S_ISREG(status.st_mode) ||
      !read_at(reader.file_, &header, sizeof header, 0) ||
      !plausible(header, static_cast<uint64_t>(status.st_size)))
    return Error{"not a ring of this version", path,
                 "use libfirstwait_emit and firstwait of one release"};
  reader.capacity_ = header.capacity;
  reader.strings_offset_ = header.strings_offset;
  reader.strings_bytes_ = header.strings_bytes;
  reader.to_epoch_ = sat_sub(header.anchor_realtime, header.anchor_monotonic);
  // A ring of this monotonic clock was made between that moment and now; a minute before, if it was
  // there first. What the wall clock said then does not matter.
  constexpr Ns kMinute = Ns{60} * 1'000'000'000;
  if (clock && header.anchor_monotonic > clock->monotonic - kMinute &&
      header.anchor_monotonic <= ClockPair::now().monotonic)
    reader.to_epoch_ = clock->to_epoch();
  reader.identity_.pid = header.pid;
  reader.identity_.parent = header.parent;
  reader.identity_.host.assign(header.host, ::strnlen(header.host, sizeof header.host));
  // As instances are named: up to the first dot.
  reader.identity_.host.resize(
      std::min(reader.identity_.host.find('.'), reader.identity_.host.size()));
  reader.read_identity();
  return reader;
}

RingReader::RingReader(RingReader&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      capacity_(other.capacity_),
      strings_offset_(other.strings_offset_),
      strings_bytes_(other.strings_bytes_),
      strings_read_(other.strings_read_),
      to_epoch_(other.to_epoch_),
      cursor_(other.cursor_),
      lost_(other.lost_),
      torn_(other.torn_),
      waiting_since_(other.waiting_since_),
      waiting_for_(other.waiting_for_),
      identity_(std::move(other.identity_)),
      names_(std::move(other.names_)) {}

RingReader::~RingReader() {
  if (file_ >= 0) ::close(file_);
}

void RingReader::read_identity() {
  int32_t fields[4];
  if (!read_at(file_, fields, sizeof fields, offsetof(ring::Header, rank))) return;
  constexpr int32_t kMostRanks = 1 << 24;
  const auto known = [](int32_t v) { return v >= 0 && v < kMostRanks ? v : -1; };
  identity_.rank = known(fields[0]);
  identity_.world_size = known(fields[1]);
  identity_.local_rank = known(fields[2]);
  identity_.role = fields[3] == 1   ? ProcessRole::trainer
                   : fields[3] == 2 ? ProcessRole::loader
                                    : ProcessRole::other;
}

void RingReader::read_strings(std::vector<RingSetting>& settings) {
  uint64_t used = 0;
  if (!read_at(file_, &used, sizeof used, offsetof(ring::Header, strings_used))) return;
  used = std::min(used, strings_bytes_);
  if (used <= strings_read_) return;
  std::string bytes(used - strings_read_, '\0');
  if (!read_at(file_, bytes.data(), bytes.size(), strings_offset_ + strings_read_)) return;
  size_t at = 0;
  while (at + sizeof(ring::StringHead) <= bytes.size()) {
    ring::StringHead head{};
    std::memcpy(&head, bytes.data() + at, sizeof head);
    const size_t text = at + sizeof head;
    if (head.bytes > bytes.size() - text) break;
    const std::string_view string(bytes.data() + text, head.bytes);
    if (head.kind == ring::kNameString) {
      names_.emplace(static_cast<uint32_t>((strings_read_ + at) / 8), string);
    } else if (const size_t zero = string.find('\0');
               head.kind == ring::kSettingString && zero != string.npos) {
      settings.push_back({std::string(string.substr(0, zero)), std::string(string.substr(zero + 1)),
                          sat_add(head.time, to_epoch_)});
    }
    at = (text + head.bytes + 7) / 8 * 8;
  }
  strings_read_ = used;
}

Ns RingReader::at(Ns monotonic) const { return sat_add(monotonic, to_epoch_); }

std::string_view RingReader::name(uint32_t id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? std::string_view() : std::string_view(found->second);
}

// False: the record is not finished yet.
bool RingReader::take(uint64_t index, const uint64_t* words, uint64_t head,
                      std::vector<RingRecord>& records) {
  ring::Record r{};
  std::memcpy(&r, words, sizeof r);
  if (r.sequence == index + 1 && r.check == ring::check_of(words)) {
    if (r.kind < 1 || r.kind > 4) return true;  // of a later version
    records.push_back({static_cast<RingKind>(r.kind), r.phase, r.lane, r.thread, r.name, r.group,
                       sat_add(r.start, to_epoch_), sat_add(r.end, to_epoch_), r.seq, r.value});
    return true;
  }
  if (r.sequence > index + 1 || head - index > capacity_) {
    ++lost_;
    return true;
  }
  return false;
}

void RingReader::poll(Ns now, bool writer_gone, std::vector<RingRecord>& records,
                      std::vector<RingSetting>& settings) {
  read_identity();
  uint64_t head = 0;
  if (!read_at(file_, &head, sizeof head, offsetof(ring::Header, head))) return;
  // Behind head: what the records name was written before them.
  read_strings(settings);
  if (head < cursor_) head = cursor_;  // only a damaged ring counts backwards
  if (head - cursor_ > capacity_) {
    lost_ += head - cursor_ - capacity_;
    cursor_ = head - capacity_;
  }
  std::vector<uint64_t> words;
  while (cursor_ < head) {
    const uint64_t slot = cursor_ & (capacity_ - 1);
    const uint64_t n = std::min<uint64_t>({head - cursor_, capacity_ - slot, kChunk});
    words.resize(n * ring::kWords);
    if (!read_at(file_, words.data(), n * ring::kRecordBytes,
                 ring::kHeaderBytes + slot * ring::kRecordBytes))
      return;
    for (uint64_t i = 0; i < n; ++i) {
      if (take(cursor_, &words[i * ring::kWords], head, records)) {
        ++cursor_;
        continue;
      }
      if (waiting_for_ != cursor_) {
        waiting_for_ = cursor_;
        waiting_since_ = now;
      }
      if (!writer_gone && now - waiting_since_ < kPatience) return;
      ++torn_;
      ++cursor_;
    }
  }
}

}  // namespace firstwait
