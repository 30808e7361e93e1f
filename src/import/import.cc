#include "import/import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "import/byte_source.h"
#include "import/contradictions.h"
#include "import/decompress.h"
#include "import/logs/dlio_epochs.h"
#include "import/tar.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;

// Some editors begin a text with it.
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

constexpr HealthCounter kUnrecognised{
    "unrecognised_file", Severity::info,
    "no importer knows this content; `firstwait list importers` shows what is read"};
constexpr HealthCounter kStillCompressed{"still_compressed", Severity::data_loss,
                                         "it is compressed more than once, or in a form that is "
                                         "not read (gzip and zstd are); decompress "
                                         "it and name the result"};
constexpr HealthCounter kNoRows{"no_rows", Severity::error,
                                "its kind was recognised, but nothing in it can be used; record it "
                                "again, or name another file"};
constexpr HealthCounter kUtf16{
    "utf16_text", Severity::data_loss,
    "the file is UTF-16, as some shells' redirection writes it; convert it to UTF-8"};
constexpr HealthCounter kMissing{"missing_input", Severity::data_loss,
                                 "there is no such file or directory; check the path"};
constexpr HealthCounter kEmpty{"empty_file", Severity::error,
                               "the file is empty; record or copy it again"};
constexpr HealthCounter kDamaged{
    "damaged_archive", Severity::data_loss,
    "the compressed file is cut or damaged; copy it again. What came before was read"};
constexpr HealthCounter kCorrupt{
    "corrupt_archive", Severity::data_loss,
    "the compressed file was changed after it was written, so that what was read of it may be "
    "wrong; copy it again"};
constexpr HealthCounter kExpands{
    "implausible_expansion", Severity::data_loss,
    "it holds several hundred times its compressed size, and only the start was read; if that is "
    "right, decompress it and name the result"};
constexpr HealthCounter kUnreadable{"unreadable_file", Severity::error,
                                    "check that the file exists and may be read"};
constexpr HealthCounter kSilentPipe{
    "silent_pipe", Severity::error,
    "nothing wrote to this pipe within 10 s; write the data to a file and name that"};
constexpr HealthCounter kSpecial{
    "special_file", Severity::info,
    "devices, pipes and sockets inside a directory are not read; copy what they give to a file"};
constexpr HealthCounter kDuplicate{
    "duplicate_input", Severity::info,
    "the same file was named more than once and read once; name it once"};
constexpr HealthCounter kNested{
    "nested_archive", Severity::error,
    "an archive inside an archive is not opened; unpack it and name the directory"};
constexpr HealthCounter kSpool{
    "spool_failed", Severity::error,
    "a Parquet file inside an archive needs room in TMPDIR; unpack the archive instead"};
constexpr HealthCounter kLinks{
    "archive_links", Severity::info,
    "links inside an archive are not followed; pack the files themselves"};
constexpr HealthCounter kTooDeep{"directory_too_deep", Severity::data_loss,
                                 "directories nested as deep are not read; name the inner one"};

// Data that only ends early is right as far as it goes.
const HealthCounter& counter_of(std::string_view damage) {
  return damage.empty() || damage.ends_with(kEndsEarly) ? kDamaged : kCorrupt;
}

constexpr size_t kHead = 64 << 10;
constexpr int kMaxDepth = 64;

const Importer* recognise(const Sniff& sniff) {
  const Importer* best = nullptr;
  int score = 0;
  for (const auto& entry : importers()) {
    const int s = entry.module->sniff(sniff);
    if (s > score) {
      score = s;
      best = entry.module;
    }
  }
  return best;
}

// gzip, zstd, xz, bzip2, zip and lz4, in this order.
bool is_compressed(std::string_view head) {
  constexpr std::string_view kMagic[] = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd\x37zXZ",
                                         "BZh",      "PK\x03\x04",       "\x04\x22\x4d\x18"};
  return std::any_of(std::begin(kMagic), std::end(kMagic),
                     [head](std::string_view magic) { return head.starts_with(magic); });
}

// A tar whose first header was changed: what lies behind it would be read as something else.
bool is_damaged_tar(std::string_view head) {
  return head.size() >= 512 && head.substr(257, 5) == "ustar" && !is_tar(head);
}

uint64_t rows_of(const Evidence& e) {
  uint64_t n = e.steps.size() + e.spans.size() + e.collectives.size() + e.ops.size() +
               e.events.size() + e.settings.size() + e.entities.size() + e.relations.size() +
               e.missing_ranks.size() + e.flight.size() + e.flight_ranks.size() + e.ranks.size();
  for (const auto& s : e.series) n += s.time.size();
  const JobInfo& job = e.job;
  n += (job.id.empty() ? 0 : 1) + (job.world_size >= 0 ? 1 : 0) + (job.framework.empty() ? 0 : 1) +
       (job.project.empty() ? 0 : 1) + (job.owner.empty() ? 0 : 1);
  return n;
}

// A file that is removed when this goes out of scope.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* dir = std::getenv("TMPDIR");
    path_ = std::string(dir != nullptr && *dir != '\0' ? dir : "/tmp") + "/firstwait-XXXXXX";
    fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
  }
  ~TemporaryFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  bool write(std::string_view data) {
    while (fd_ >= 0 && !data.empty()) {
      const ssize_t n = ::write(fd_, data.data(), data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      data.remove_prefix(static_cast<size_t>(n));
    }
    return fd_ >= 0;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

// What may come out of one file on disk. Text of records and logs shrinks ten to a hundred times; a
// small file made to fill memory or never to end shrinks thousands of times, once or again inside.
class Budget {
 public:
  explicit Budget(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      left_ = (uint64_t{256} << 20) + kMostExpansion * static_cast<uint64_t>(status.st_size);
  }
  // False when it is used up.
  bool take(size_t n) {
    exceeded_ = exceeded_ || n > left_;
    left_ -= exceeded_ ? 0 : n;
    return !exceeded_;
  }
  bool exceeded() const { return exceeded_; }

 private:
  static constexpr uint64_t kMostExpansion = 400;
  uint64_t left_ = UINT64_MAX;
  bool exceeded_ = false;
};

// What one import leaves in its summary.
struct Counts {
  ImportSummary& summary;
  const ImportOptions& options;
  Evidence& out;
};

// One decompressed input, fed in order: finds the importer by the head and hands everything on.
class Input {
 public:
  // `file`: the path on disk when its bytes are exactly those fed here, else empty.
  Input(std::string path, std::string file, Counts counts)
      : path_(std::move(path)),
        file_(std::move(file)),
        counts_(counts),
        before_(rows_of(counts.out)) {}

  // False when nothing more is needed.
  bool feed(std::string_view chunk) {
    bytes_ += chunk.size();
    if (counts_.options.progress) counts_.options.progress(path_, bytes_);
    if (reader_) return pass(chunk);
    if (unknown_) return false;
    head_.append(chunk);
    if (head_.starts_with(kUtf8Mark)) head_.erase(0, kUtf8Mark.size());
    if (head_.size() < kHead) return true;
    return start();
  }

  // `damage`: why it is not complete.
  void finish(bool complete, const std::string& damage) {
    finish(complete, damage, counter_of(damage));
  }
  void finish(bool complete, const std::string& damage, const HealthCounter& counter) {
    Evidence& out = counts_.out;
    if (!reader_ && !unknown_ && head_.empty() && complete) {
      if (damage.empty()) return out.health.add(path_, kEmpty);
      return out.health.add(path_, kDamaged, 1, damage);
    }
    if (!reader_ && !unknown_) start();
    if (!complete) out.health.add(path_, counter, 1, damage);
    if (!reader_) {
      // Damaged data is named as such; that it could not be recognised follows from it.
      const std::string_view mark = std::string_view(head_).substr(0, 2);
      const bool utf16 = mark == "\xff\xfe" || mark == "\xfe\xff";
      if (complete)
        out.health.add(path_, utf16                  ? kUtf16
                              : is_compressed(head_) ? kStillCompressed
                                                     : kUnrecognised);
      return;
    }
    if (spool_failed_) {
      out.health.add(path_, kSpool);
      return;
    }
    reader_->finish(complete);
    const uint64_t rows = rows_of(out) - before_;
    if (rows == 0 && !told_of(path_))
      out.health.add(path_, kNoRows, 1, fmt::format("read as {}", importer_->name));
    ++counts_.summary.recognised;
    if (rows > 0) ++counts_.summary.read;
    out.sources.push_back({path_, std::string(importer_->name), rows, bytes_, out.notes[path_]});
  }

 private:
  bool start() {
    if (!is_compressed(head_))
      importer_ = recognise({std::string_view(head_).substr(0, kHead), path_, &counts_.options});
    if (importer_ == nullptr) {
      unknown_ = true;
      return false;
    }
    std::string file = file_;
    if (importer_->needs_file && file.empty()) {
      spool_ = std::make_unique<TemporaryFile>();
      file = spool_->path();
    }
    reader_ = importer_->open(ImportContext{path_, counts_.options, counts_.out, file});
    return pass(head_);
  }
  bool told_of(std::string_view path) const {
    const auto& entries = counts_.out.health.entries();
    return std::any_of(entries.begin(), entries.end(),
                       [path](const HealthEntry& e) { return e.source == path; });
  }
  bool pass(std::string_view chunk) {
    if (!importer_->needs_file) {
      reader_->feed(chunk);
      return true;
    }
    if (spool_ && !spool_failed_) spool_failed_ = !spool_->write(chunk);
    return spool_ && !spool_failed_;
  }

  std::string path_, file_;
  Counts counts_;
  uint64_t before_ = 0, bytes_ = 0;
  std::string head_;
  bool unknown_ = false, spool_failed_ = false;
  const Importer* importer_ = nullptr;
  std::unique_ptr<TemporaryFile> spool_;  // outlives reader_, which may hold it open
  std::unique_ptr<Reader> reader_;
};

// Feeds each member of an archive as an input of its own, decompressing members that are compressed
// themselves.
class ArchiveSink final : public TarSink {
 public:
  ArchiveSink(std::string archive, Counts counts, Budget& budget)
      : archive_(std::move(archive)), counts_(counts), budget_(budget) {}
  void begin(const std::string& name) override {
    ++counts_.summary.files;
    path_ = archive_ + "/" + name;
    input_ = std::make_unique<Input>(path_, "", counts_);
    head_.clear();
    nested_ = false;
    decided_for_ = nullptr;
    decompressor_ =
        std::make_unique<Decompressor>([this](std::string_view chunk) { return plain(chunk); });
  }
  void data(std::string_view chunk) override { decompressor_->feed(chunk); }
  void end(bool complete) override {
    std::string damage = decompressor_->finish();
    if (!head_.empty()) input_->feed(head_);  // shorter than a tar header
    if (!complete && damage.empty()) damage = "the archive ends inside this file";
    if (nested_) {
      counts_.out.health.add(path_, kNested);
    } else if (budget_.exceeded()) {
      input_->finish(false, "", kExpands);
    } else {
      input_->finish(damage.empty(), damage);
    }
    input_.reset();
    decompressor_.reset();
  }

 private:
  bool plain(std::string_view chunk) {
    if (nested_ || !budget_.take(chunk.size())) return false;
    if (decided_for_ != input_.get()) {
      head_.append(chunk);
      if (head_.size() < 512) return true;
      decided_for_ = input_.get();
      nested_ = is_tar(head_);
      const std::string head = std::move(head_);
      head_.clear();
      return !nested_ && input_->feed(head);
    }
    return input_->feed(chunk);
  }

  std::string archive_, path_, head_;
  Counts counts_;
  Budget& budget_;
  bool nested_ = false;
  const Input* decided_for_ = nullptr;
  std::unique_ptr<Input> input_;
  std::unique_ptr<Decompressor> decompressor_;
};

// True when the bytes on disk are those of `head`: the file is not compressed.
bool stored_as_is(const std::string& path, std::string_view head) {
  char raw[8] = {};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = ::read(fd, raw, sizeof raw);
  ::close(fd);
  const size_t compared = std::min(sizeof raw, head.size());
  return n >= static_cast<ssize_t>(compared) && std::memcmp(raw, head.data(), compared) == 0;
}

// Reads one file on disk: an archive's members one by one, anything else as one input.
void import_file(const std::string& path, Counts counts) {
  std::string head;
  Budget budget(path);
  std::unique_ptr<Input> input;
  std::unique_ptr<ArchiveSink> sink;
  std::unique_ptr<TarReader> tar;
  bool damaged_tar = false;
  const auto decide = [&] {
    if (is_damaged_tar(head)) {
      counts.out.health.add(path, kCorrupt, 1, "the first header of the tar is damaged");
      damaged_tar = true;
      return false;
    }
    if (is_tar(head)) {
      sink = std::make_unique<ArchiveSink>(path, counts, budget);
      tar = std::make_unique<TarReader>(*sink);
      return tar->feed(head);
    }
    struct stat status {};
    const bool regular = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    input = std::make_unique<Input>(path, regular && stored_as_is(path, head) ? path : "", counts);
    return input->feed(head);
  };
  const auto result = read_bytes(path, [&](std::string_view chunk) {
    if (!budget.take(chunk.size())) return false;
    if (tar) return tar->feed(chunk) && !budget.exceeded();
    if (input) return input->feed(chunk);
    head.append(chunk);
    return head.size() < 512 || decide();
  });
  if (!result) {
    struct stat status {};
    const bool pipe = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
    counts.out.health.add(path, pipe ? kSilentPipe : kUnreadable, 1, result.error().what);
    return;
  }
  if (damaged_tar) return;
  if (!tar && !input) decide();
  if (input) {
    ++counts.summary.files;
    if (budget.exceeded()) return input->finish(false, "", kExpands);
    return input->finish(result->complete, result->damage);
  }
  const std::string damage = tar->finish();
  if (budget.exceeded()) {
    counts.out.health.add(path, kExpands);
  } else if (!damage.empty() || !result->complete)
    counts.out.health.add(path, counter_of(damage.empty() ? result->damage : damage), 1,
                          damage.empty() ? result->damage : damage);
  counts.out.health.add(path, kLinks, tar->skipped_links());
}

// The regular files under what the user named, each once, in an order that depends on names only.
class Files {
 public:
  explicit Files(Evidence& out) : out_(out) {}
  std::vector<std::string> paths;

  void add(const std::string& path, int depth = 0) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      // A dangling link or a loop of links inside a directory.
      out_.health.add(path, kUnreadable, 1, std::strerror(errno));
      return;
    }
    const bool directory = S_ISDIR(status.st_mode);
    // Inside directories only regular files count: devices and pipes would block or never end.
    if (!directory && !S_ISREG(status.st_mode) &&
        (depth > 0 || S_ISBLK(status.st_mode) || S_ISSOCK(status.st_mode))) {
      if (depth == 0) return out_.health.add(path, kUnreadable, 1, "not a regular file");
      return out_.health.add(path, kSpecial);
    }
    if ((directory || S_ISREG(status.st_mode)) &&
        !seen_.emplace(status.st_dev, status.st_ino).second) {
      if (!directory) out_.health.add(path, kDuplicate);
      return;
    }
    if (!directory) {
      paths.push_back(path);
      return;
    }
    if (depth >= kMaxDepth) return out_.health.add(path, kTooDeep);
    std::error_code error;
    std::vector<std::string> entries;
    for (fs::directory_iterator it(path, error), none; !error && it != none; it.increment(error))
      entries.push_back(it->path().string());
    if (error) out_.health.add(path, kUnreadable, 1, error.message());
    std::sort(entries.begin(), entries.end());
    for (const auto& entry : entries) add(entry, depth + 1);
  }

 private:
  Evidence& out_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

Result<ImportSummary> import_inputs(const std::vector<std::string>& paths,
                                    const ImportOptions& options, Evidence& out) {
  if (paths.empty()) return Error{"no input was named", "", "name a file, a directory or a bundle"};
  Files files(out);
  size_t missing = 0;
  for (const auto& path : paths) {
    std::error_code error;
    if (fs::exists(path, error)) {
      files.add(path);
      continue;
    }
    // The rest is still analysed.
    if (++missing == paths.size())
      return Error{error ? error.message() : "no such file or directory", path, "check the path"};
    out.health.add(path, kMissing);
  }
  ImportSummary summary;
  for (const auto& path : files.paths) import_file(path, {summary, options, out});
  add_dlio_epoch_rows(out);
  tell_contradictions(out);
  if (summary.recognised > 0) return summary;
  const std::string where =
      paths.size() == 1 ? paths.front() : std::to_string(paths.size()) + " inputs";
  if (files.paths.empty())
    return Error{"there is no file to read", where, "name files or a directory that holds some"};
  const auto& entries = out.health.entries();
  return Error{"nothing in it could be recognised", where,
               entries.empty() ? "`firstwait list importers` shows what is read"
                               : std::string(entries.front().counter->remedy)};
}

}  // namespace firstwait
