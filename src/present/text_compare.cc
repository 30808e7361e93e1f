// Two runs compared, as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "present/compare_wording.h"
#include "present/layout.h"
#include "present/numbers.h"
#include "present/text_page.h"
#include "present/utf8.h"
#include "present/wording.h"

namespace firstwait {
namespace {

constexpr size_t kMostListed = 10;

void and_more(TextPage& page, size_t total, size_t indent) {
  if (total > kMostListed)
    page.line(std::string(indent, ' ') + fmt::format("and {} more", total - kMostListed));
}

void show_steps(TextPage& page, const Comparison& c) {
  const SecondsColumn column = compared_column(c);
  const std::string unit = column.unit.empty() ? "" : " " + std::string(column.unit);
  const auto row = [&](std::string_view name, double before, double after) {
    const double ratio = before / after;
    page.line(pad_right("  " + page.safe(name), 34) + pad_left(page.safe(column.text(before)), 12) +
              pad_left(page.safe(column.text(after)), 12) +
              pad_left(page.safe(column.change(before, after)), 12) +
              pad_left(page.safe(std::isfinite(ratio) ? times(ratio) : std::string()), 9));
  };
  page.heading("STEP TIME",
               pad_left("before" + unit, 12) + pad_left("after" + unit, 12) +
                   pad_left("change", 12) + pad_left("ratio", 9),
               79);
  row("mean", c.before.mean_s, c.after.mean_s);
  row("median", c.before.median_s, c.after.median_s);
  if (c.phases.empty()) return;
  page.heading("WHERE IT CHANGED", "mean per step", 79);
  for (const auto& p : c.phases)
    row(phase_label(p.phase), p.before_s.value_or(kNaN), p.after_s.value_or(kNaN));
}

void show_settings(TextPage& page, const Comparison& c) {
  if (c.settings.empty() && c.events.empty()) return;
  page.heading("WHAT ELSE DIFFERS");
  for (size_t i = 0; i < c.settings.size() && i < kMostListed; ++i) {
    const auto& s = c.settings[i];
    page.paragraph(setting_text(s), 4, "  " + std::string(page.glyphs().none));
  }
  and_more(page, c.settings.size(), 4);
  for (size_t i = 0; i < c.events.size() && i < kMostListed; ++i)
    page.paragraph(event_text(c.events[i]), 4, "  " + std::string(page.glyphs().none));
  and_more(page, c.events.size(), 4);
}

void show_sentences(TextPage& page, std::string_view title, const std::vector<std::string>& list) {
  if (list.empty()) return;
  page.heading(title);
  for (size_t i = 0; i < list.size() && i < kMostListed; ++i)
    page.paragraph(list[i], 4, "  " + std::string(page.glyphs().none));
  and_more(page, list.size(), 4);
}

}  // namespace

std::string text_compare(const Comparison& c, const TextOptions& options) {
  TextPage page(options);
  if (!options.command.empty()) {
    page.line(page.safe("$ " + options.command));
    page.blank();
  }
  page.labelled("before", side_text(c.before));
  page.labelled("after", side_text(c.after));
  page.rule();
  page.sentence(comparison_headline(c), {}, false);
  if (const auto text = certainty_text(c); !text.empty()) {
    page.blank();
    page.paragraph(text);
  }
  show_steps(page, c);
  show_sentences(page, "SLOW STEPS", compared_outliers(c));
  if (!c.symptoms.empty()) {
    page.heading("SIGNALS");
    for (const auto& s : c.symptoms) {
      const std::string value = page.cut(change_text(s.before, s.now, s.unit), 40);
      const std::string left = page.cut("  " + signal_words(s.signal), 38);
      page.line(left + pad_left(value, kColumns - display_width(left)));
    }
  }
  show_settings(page, c);
  show_sentences(page, "ALSO SEEN", compared_observations(c));
  if (c.predicted) {
    page.blank();
    page.labelled("PREDICTED", predicted_text(*c.predicted));
  }
  const auto health = health_by_severity(c.input_health);
  if (!health.empty()) page.heading("INPUT");
  for (size_t i = 0; i < health.size() && i < kMostListed; ++i)
    page.paragraph(health_sentence(*health[i]), 2);
  and_more(page, health.size(), 2);
  return page.take();
}

}  // namespace firstwait
