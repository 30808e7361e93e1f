// Parquet files: op-level records, and spans and steps of an evidence bundle. Told apart by their
// columns.
#include <fmt/format.h>

#include "import/importer.h"
#include "import/parquet/table.h"

namespace firstwait {
namespace {

int sniff(const Sniff& s) { return s.head.starts_with("PAR1") ? 95 : 0; }

class ParquetReader final : public Reader {
 public:
  explicit ParquetReader(ImportContext context) : context_(std::move(context)) {}
  void feed(std::string_view) override {}
  void finish(bool) override {
    using namespace parquet;
    auto duck = Duck::open();
    if (!duck)
      return context_.count(kHealth[no_duckdb], 1,
                            fmt::format("{} {}", duck.error().what, duck.error().where));
    const auto table = Table::open(*duck, context_);
    if (!table) return;
    if (is_ops(*table)) return read_ops(*table);
    if (is_spans(*table)) return read_spans(*table);
    if (is_steps(*table)) return read_steps(*table);
    std::string names;
    for (const auto& column : table->columns())
      if (names.size() < 200)
        names += fmt::format("{}{}", names.empty() ? "it has " : ", ", column.name);
    context_.count(kHealth[not_ours], 1, names.empty() ? "it has no columns" : names);
  }

 private:
  ImportContext context_;
};

}  // namespace

extern const Importer importer_ops_parquet{
    .name = "ops_parquet",
    .summary = "Parquet tables: op records of pipeline-parallel jobs, spans, steps",
    .formats = "trace-*.parquet, spans.parquet, steps.parquet",
    .health = parquet::kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<ParquetReader>(std::move(c));
    },
    .needs_file = true};

}  // namespace firstwait
