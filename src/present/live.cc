// A running job in a few lines: what each step is spent on, and the present suspicion.
#include <fmt/format.h>

#include <algorithm>

#include "present/layout.h"
#include "present/numbers.h"
#include "present/present.h"
#include "present/text_page.h"
#include "present/wording.h"

namespace firstwait {
namespace {

constexpr double kShown = 0.02;  // of the step; what is less is left to the report
constexpr size_t kMostRows = 6;

}  // namespace

std::string text_live(const Report& r, const TextOptions& options) {
  TextPage page(options);
  page.rule();
  page.line(subject_line(r));
  auto ledger = r.attribution.ledger;
  std::erase_if(ledger, [](const LedgerRow& row) { return !(row.share >= kShown); });
  std::stable_sort(ledger.begin(), ledger.end(),
                   [](const LedgerRow& a, const LedgerRow& b) { return a.share > b.share; });
  if (ledger.size() > kMostRows) ledger.resize(kMostRows);
  const SecondsColumn column = seconds_column(step_seconds(r), r.job.unitless);
  for (const LedgerRow& row : ledger) {
    std::vector<std::string> ranks;
    for (const int32_t rank : row.ranks) ranks.push_back(std::to_string(rank));
    page.line("  " + pad_right(phase_label(row.phase), 12) +
              pad_right(bar(row.share, 28, page.utf8()), 29) +
              pad_left(page.safe(column.with_unit(row.seconds)), 10) +
              pad_left(fmt::format("{:.0f} %", row.share * 100), 7) +
              (ranks.empty() ? "" : "  rank " + comma_text(ranks, 3)));
  }
  const Headline parts = headline_parts(r, false);
  page.sentence(parts.claim, parts.reason, names_origin(r));
  const Certainty c = certainty(r);
  if (!c.percent.empty()) page.line(capital(c.word) + ", " + c.percent + " so far.");
  return page.take();
}

}  // namespace firstwait
