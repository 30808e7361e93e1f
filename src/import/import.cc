#include "import/import.h"

#include <algorithm>
#include <filesystem>

#include "import/byte_source.h"

namespace firstwait {
namespace {

namespace fs = std::filesystem;

constexpr HealthCounter kUnrecognised{"unrecognised_file", Severity::info,
                                      "no importer knows this content; `firstwait list importers` shows what is read"};
constexpr HealthCounter kEmpty{"empty_file", Severity::error, "the file is empty; record or copy it again"};
constexpr HealthCounter kDamaged{"damaged_archive", Severity::data_loss,
                                 "the compressed file is cut or damaged; copy it again. What came before was read"};
constexpr HealthCounter kUnreadable{"unreadable_file", Severity::error, "check that the file exists and may be read"};

constexpr size_t kHead = 64 << 10;

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

uint64_t rows_of(const Evidence& e) {
  uint64_t n = e.steps.size() + e.spans.size() + e.collectives.size() + e.ops.size() + e.events.size() +
               e.settings.size() + e.entities.size() + e.relations.size() + e.missing_ranks.size();
  for (const auto& s : e.series) n += s.time.size();
  return n;
}

// Feeds one file to the importer that knows it. True when it was recognised.
bool import_file(const std::string& path, const ImportOptions& options, Evidence& out) {
  const uint64_t before = rows_of(out);
  std::string head;
  const Importer* importer = nullptr;
  std::unique_ptr<Reader> reader;
  bool unknown = false;
  const auto start = [&] {
    importer = recognise({head, path, &options});
    if (importer == nullptr) {
      unknown = true;
      return;
    }
    reader = importer->open(ImportContext{path, options, out, path});
    if (!importer->needs_file) reader->feed(head);
  };
  const auto result = read_bytes(path, [&](std::string_view chunk) {
    if (reader) {
      reader->feed(chunk);
      return true;
    }
    head.append(chunk.substr(0, chunk.size()));
    if (head.size() < kHead) return true;
    start();
    return reader != nullptr && !importer->needs_file;
  });
  if (!result) {
    out.health.add(path, kUnreadable, 1, result.error().what);
    return false;
  }
  if (!reader && !unknown) {
    if (head.empty()) {
      out.health.add(path, result->complete ? kEmpty : kDamaged, 1, result->damage);
      return false;
    }
    start();
  }
  if (!result->complete) out.health.add(path, kDamaged, 1, result->damage);
  if (!reader) {
    out.health.add(path, kUnrecognised);
    return false;
  }
  reader->finish(result->complete);
  out.sources.push_back({path, std::string(importer->name), rows_of(out) - before, result->bytes, out.notes[path]});
  return true;
}

}  // namespace

Result<ImportSummary> import_inputs(const std::vector<std::string>& paths, const ImportOptions& options,
                                    Evidence& out) {
  ImportSummary summary;
  for (const auto& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) return Error{"no such file or directory", path, "check the path"};
    std::vector<std::string> files;
    if (fs::is_directory(path, error)) {
      for (const auto& entry : fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error))
        if (entry.is_regular_file(error)) files.push_back(entry.path().string());
      std::sort(files.begin(), files.end());
    } else {
      files.push_back(path);
    }
    for (const auto& file : files) {
      ++summary.files;
      if (import_file(file, options, out)) ++summary.read;
    }
  }
  return summary;
}

}  // namespace firstwait
