// Chrome trace JSON as profilers write it: Kineto of every age, torch.autograd.profiler's bare
// array, and others.
#include "base/text.h"
#include "import/chrome/event_scanner.h"
#include "import/chrome/trace_rows.h"
#include "import/importer.h"

namespace firstwait {
namespace {

const HealthCounter kHealth[] = {TraceHealth::truncated,      TraceHealth::invalid_event,
                                 TraceHealth::bad_time,       TraceHealth::unmatched,
                                 TraceHealth::duplicate_rank, TraceHealth::no_rank,
                                 TraceHealth::no_events};

int sniff(const Sniff& s) {
  std::string_view head = s.head;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  head = trim(head);
  if (head.empty()) return 0;
  if (head.front() == '{') {
    if (contains(head, "\"traceEvents\"")) return 95;
    // Thousands of ranks or devices may stand before the events.
    if (contains(head, "\"schemaVersion\"") &&
        (contains(head, "\"deviceProperties\"") || contains(head, "\"distributedInfo\"")))
      return 92;
    return 0;
  }
  if (head.front() != '[') return 0;
  const std::string_view inside = trim(head.substr(1, 8192));
  if (inside.empty() || inside.front() != '{') return 0;
  const bool events =
      contains(inside, "\"ph\"") && contains(inside, "\"ts\"") && contains(inside, "\"pid\"");
  return events ? 85 : 0;
}

class ChromeTraceReader final : public Reader {
 public:
  explicit ChromeTraceReader(ImportContext context)
      : context_(context), rows_(std::move(context)), scanner_(rows_) {}
  void feed(std::string_view chunk) override { scanner_.feed(chunk); }
  void finish(bool complete) override {
    const bool ended = scanner_.finish();
    if (!ended || !complete) context_.count(TraceHealth::truncated);
    rows_.finish();
  }

 private:
  ImportContext context_;
  TraceRows rows_;
  EventScanner scanner_;
};

}  // namespace

extern const Importer importer_chrome_trace{
    .name = "chrome_trace",
    .summary = "profiler traces: PyTorch Profiler (Kineto) and other Chrome trace JSON",
    .formats = "*.pt.trace.json[.gz], Chrome trace JSON as an object or a bare array",
    .health = kHealth,
    .sniff = sniff,
    .open = [](ImportContext c) -> std::unique_ptr<Reader> {
      return std::make_unique<ChromeTraceReader>(std::move(c));
    }};

}  // namespace firstwait
