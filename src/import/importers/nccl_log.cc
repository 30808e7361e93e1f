// NCCL_DEBUG=INFO output and the results of all-reduce benchmarks.
#include <fmt/format.h>

#include "import/logs/log_lines.h"
#include "import/logs/nccl_lines.h"

namespace firstwait {
namespace {

constexpr HealthCounter kTooLong{"line_too_long", Severity::data_loss,
                                 "a line is longer than 64 KiB; split it"};
constexpr HealthCounter kNothing{"nothing_of_nccl", Severity::error,
                                 "no NCCL line could be read; run the job with NCCL_DEBUG=INFO"};
const HealthCounter kHealth[] = {kTooLong, kNothing, kNcclWarnings, kNcclUnreadable};

int sniff(const Sniff& s) { return sniff_nccl(s.head); }

class NcclReader final : public LogLines {
 public:
  explicit NcclReader(ImportContext context) : context_(std::move(context)), lines_(context_) {}

 protected:
  void line(std::string_view text, uint64_t number, bool) override {
    lines_.line(text,
                text.front() == '[' || (text.front() >= '0' && text.front() <= '9')
                    ? read_prefix(text).time
                    : kNoTime,
                number);
  }
  void end(bool) override {
    if (!lines_.any()) return context_.count(kNothing);
    lines_.finish();
  }
  void too_long(uint64_t number) override {
    context_.count(kTooLong, 1, fmt::format("line {}", number));
  }

 private:
  ImportContext context_;
  NcclLines lines_;
};

}  // namespace

extern const Importer importer_nccl_log{
    .name = "nccl_log",
    .summary = "NCCL's own log: transport, version, interfaces, environment; benchmark bandwidths",
    .formats = "NCCL_DEBUG=INFO output, all_reduce_bench and nccl-tests results",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<NcclReader>(std::move(c));
    }};

}  // namespace firstwait
