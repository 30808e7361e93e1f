// The report as text: the order and the sentences of the page, 80 columns.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "present/layout.h"
#include "present/numbers.h"
#include "present/text_page.h"
#include "present/utf8.h"
#include "present/wording.h"

namespace firstwait {
namespace {

// Where lists are cut; JSON has all.
constexpr size_t kMostRefuted = 12, kMostUntested = 4, kMostActions = 8, kMostSeen = 8,
                 kMostHealth = 8, kMostFindings = 6, kMostNext = 4;

void and_more(TextPage& page, size_t total, size_t shown, size_t indent) {
  if (total > shown)
    page.line(std::string(indent, ' ') +
              fmt::format("and {} more", with_thousands(static_cast<int64_t>(total - shown))));
}

void say_verdict(TextPage& page, const Report& r) {
  const Headline parts = headline_parts(r, true);
  // The first sentence keeps a line of its own: it holds the factor and the time.
  const size_t stop = parts.claim.find(". ");
  if (!parts.reason.empty() && stop != std::string::npos) {
    page.sentence(parts.claim.substr(0, stop + 1), {}, false);
    page.sentence(parts.claim.substr(stop + 2), parts.reason, names_origin(r));
  } else {
    page.sentence(parts.claim, parts.reason, names_origin(r));
  }
  const Certainty c = certainty(r);
  std::string text;
  if (!c.percent.empty()) {
    text = c.word + ", " + c.percent + ".";
  } else if (!contains_ignoring_case(r.headline, c.word)) {
    text = c.word + ".";
  }
  if (const auto rivals = rivals_sentence(r); !rivals.empty())
    text += (text.empty() ? "" : " ") + rivals + ".";
  if (const auto lost = lost_text(r); !lost.empty()) text += " Lost so far: " + lost + ".";
  if (text.empty()) return;
  page.blank();
  page.paragraph(text);
}

// A column of shares has one number of decimals.
std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * 100) : std::string(kAbsent);
}

void show_ledger(TextPage& page, const Report& r) {
  const auto& ledger = r.attribution.ledger;
  if (ledger.empty()) return;
  const double step = step_seconds(r);
  const auto before_step = baseline_seconds(r);
  const bool compared = has_baseline(r);
  const SecondsColumn column =
      seconds_column(std::max(step, before_step.value_or(0)), r.job.unitless);
  double largest = 0;
  for (const auto& row : ledger) largest = std::max(largest, row.seconds);
  const std::string unit = column.unit.empty() ? "" : " " + std::string(column.unit);
  const auto numbers = [&](const std::string& a, const std::string& b, const std::string& c) {
    return pad_left(page.safe(a), 12) + pad_left(page.safe(b), 10) + pad_left(page.safe(c), 10);
  };
  page.heading("WHERE EACH STEP GOES",
               compared ? page.safe(pad_left("before" + unit, 10) + pad_left("now" + unit, 10) +
                                    pad_left("change", 10))
                        : pad_left("now" + unit, 10) + pad_left("share", 10),
               74);
  const auto row_line = [&](std::string_view name, double seconds, std::optional<double> before,
                            double share, bool with_bar) {
    std::string left = "  " + pad_right(name, 12);
    if (with_bar && largest > 0) left += bar(seconds / largest, 28, page.utf8());
    page.line(pad_right(left, 42) +
              (compared ? numbers(column.text(before.value_or(kNaN)), column.text(seconds),
                                  before ? column.change(*before, seconds) : std::string(kAbsent))
                        : numbers("", column.text(seconds), share_text(share))));
  };
  for (const auto& row : ledger) {
    if (row.seconds == 0 && row.before.value_or(0) == 0 && row.phase != Phase::unexplained)
      continue;
    row_line(phase_label(row.phase), row.seconds, row.before, row.share, true);
  }
  row_line("step", step, before_step, 1, false);
  for (const auto& row : ledger) {
    if (row.ranks.empty() || row.ranks.size() >= r.rank_ids.size()) continue;
    std::vector<std::string> ranks;
    for (const auto id : row.ranks) ranks.push_back(std::to_string(id));
    page.paragraph(fmt::format("{} is carried by {} {}.", capital(phase_label(row.phase)),
                               ranks.size() == 1 ? "rank" : "ranks", list_text(ranks, 8)),
                   2);
  }
}

void show_link(TextPage& page, const ChainLink& link, bool last, bool origin) {
  constexpr size_t kWhat = 4, kWhere = 32;
  const std::string value = page.safe(link.value), where = page.safe(link.where);
  const std::string_view mark = last && origin ? page.glyphs().ring : page.glyphs().link;
  const std::string lead = pad_right("  " + std::string(mark), page.utf8() ? kWhat : kWhat + 2);
  // A value that is half a line long gets lines of its own.
  const size_t value_width = display_width(value);
  const size_t room = value_width > 40 ? 0 : kColumns - value_width - (value.empty() ? 0 : 1);
  std::vector<std::string> lines;
  const std::string one = lead + page.safe(link.what);
  std::string rest;
  if (display_width(one) < kWhere && kWhere + display_width(where) <= room) {
    lines.push_back(where.empty() ? one : pad_right(one, kWhere) + where);
  } else {
    const size_t indent = display_width(lead);
    const size_t width = room > indent + 20 ? room - indent : kColumns - indent;
    for (const auto& part : wrap(page.safe(link.what), width))
      lines.push_back((lines.empty() ? lead : std::string(indent, ' ')) + part);
    if (!where.empty())
      for (const auto& part : wrap(where, kColumns - indent - 2))
        lines.push_back(std::string(indent + 2, ' ') + part);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string text = lines[i];
    if (i == 0 && !value.empty() && display_width(text) < room) {
      text += pad_left(value, kColumns - display_width(text));
    } else if (i == 0 && !value.empty()) {
      for (const auto& part : wrap(value, kColumns - 6)) lines.push_back("      " + part);
    }
    if (last && origin) {
      page.red_line(text);
    } else {
      page.line(text);
    }
  }
}

void show_chain(TextPage& page, const Report& r) {
  const bool has_chain =
      tone_of(r) != Tone::healthy && !r.findings.empty() && !r.findings[0].verdict.chain.empty();
  const std::string change = change_before_onset(r);
  if (!has_chain && change.empty()) return;
  page.heading(has_chain && names_origin(r) ? "FROM SYMPTOM TO ORIGIN" : "WHAT IS SEEN");
  if (has_chain) {
    const auto& chain = r.findings[0].verdict.chain;
    for (size_t i = 0; i < chain.size(); ++i)
      show_link(page, chain[i], i + 1 == chain.size(), names_origin(r));
  }
  if (!change.empty()) page.paragraph(change + ".", 2);
}

void show_evidence(TextPage& page, const Report& r) {
  if (r.findings.empty()) return;
  const auto& rows = r.findings[0].verdict.evidence;
  if (rows.empty()) return;
  page.heading("EVIDENCE");
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < rows.size() && i < kMost; ++i) {
    const std::string value = evidence_value(rows[i]);
    page.paragraph(rows[i].text + (value.empty() ? "" : ": " + value), 12,
                   rows[i].supports ? "  for" : "  against");
  }
  and_more(page, rows.size(), kMost, 12);
}

// Findings behind the first; all of them when none stands out.
void show_other_findings(TextPage& page, const Report& r) {
  const size_t from = names_origin(r) || tone_of(r) == Tone::healthy ? 1 : 0;
  if (r.findings.size() <= from) return;
  page.heading(from == 1 ? "ALSO FOUND" : "WHAT REMAINS POSSIBLE");
  const size_t shown = std::min(r.findings.size(), from + kMostFindings);
  for (size_t i = from; i < shown; ++i) {
    const Finding& f = r.findings[i];
    std::string text = f.title.empty() ? f.cause : f.title + " (" + f.cause + ")";
    if (!f.verdict.where.empty()) text += " at " + list_text(f.verdict.where, 2);
    if (f.verdict.effect && std::isfinite(f.verdict.effect->seconds_per_step))
      text += ": " +
              (r.job.unitless ? three_digits(f.verdict.effect->seconds_per_step)
                              : firstwait::seconds(f.verdict.effect->seconds_per_step)) +
              " per step";
    page.paragraph(text, 10, "  " + page.safe(confidence_text(f.confidence)));
  }
  and_more(page, r.findings.size(), shown, 10);
}

void show_rivals(TextPage& page, const Report& r) {
  if (r.ruled_out.empty() && r.untested.empty()) return;
  page.heading("WHY NOT SOMETHING ELSE");
  constexpr size_t kReason = 36;
  const auto row = [&](std::string_view mark, const std::string& id, const std::string& reason) {
    const std::string left = "  " + std::string(mark) + " " + page.safe(id);
    if (display_width(left) < kReason) {
      page.paragraph(reason, kReason, left);
    } else {
      page.line(left);
      page.paragraph(reason, kReason);
    }
  };
  const auto refuted = grouped(refuted_rivals(r));
  size_t left = r.ruled_out.size();
  for (size_t i = 0; i < refuted.size() && i < kMostRefuted; ++i) {
    row(page.glyphs().refuted, group_name(refuted[i].causes), refuted[i].text);
    left -= refuted[i].causes.size();
  }
  if (left > 0) page.paragraph(fmt::format("and {} more refuted", left), 4);
  const auto untested = grouped(untested_rivals(r));
  std::vector<std::string> rest;
  for (size_t i = 0, shown = 0; i < untested.size(); ++i) {
    if ((untested[i].relevant || untested.size() <= kMostUntested) && shown < kMostUntested) {
      row("?", group_name(untested[i].causes), "untested: " + untested[i].text);
      ++shown;
    } else {
      rest.insert(rest.end(), untested[i].causes.begin(), untested[i].causes.end());
    }
  }
  if (!rest.empty()) page.paragraph(folded_text(rest, rest.size() < r.untested.size()), 4, "  ?");
}

void show_actions(TextPage& page, const Report& r) {
  if (r.findings.empty() || r.findings[0].actions.empty()) return;
  const auto& actions = r.findings[0].actions;
  page.heading("WHAT HELPS", "predicted  then bound by", 77);
  size_t number = 0;
  std::vector<std::string> cautions;
  for (size_t i = 0; i < actions.size() && i < kMostActions; ++i) {
    const Action& a = actions[i];
    const bool useless = is_useless(a);
    const std::string mark = useless ? std::string(page.glyphs().dash) : std::to_string(++number);
    const auto lines = wrap(page.safe(a.text), 43);
    const std::string bound = page.safe(a.then_bound_by);
    const bool beside = display_width(bound) <= 16;
    for (size_t k = 0; k < lines.size(); ++k) {
      std::string text = (k == 0 ? pad_right("  " + mark, 5) : std::string(5, ' ')) + lines[k];
      if (k == 0) {
        text = pad_right(text, 48) + pad_left(page.safe(times(a.speedup)), 14);
        if (beside) text += "  " + bound;
      }
      page.line(text);
    }
    if (!beside) page.paragraph("then bound by " + a.then_bound_by, 5);
    // Neighbours that rest on the same share its line.
    const bool again =
        i + 1 < actions.size() && i + 1 < kMostActions && actions[i + 1].assumption == a.assumption;
    if (!a.assumption.empty() && !again)
      page.paragraph((i > 0 && actions[i - 1].assumption == a.assumption ? "all of these assume "
                                                                         : "assumes ") +
                         ("that " + a.assumption),
                     5);
    if (!a.caution.empty()) cautions.push_back(fmt::format("Caution for {}: {}", mark, a.caution));
  }
  and_more(page, actions.size(), kMostActions, 5);
  std::string notes = actions.size() > 1 ? "Gains do not add up." : "";
  for (const auto& caution : cautions) {
    if (!notes.empty()) notes += " ";
    notes += caution;
    if (!notes.ends_with('.')) notes += ".";
  }
  if (!notes.empty()) page.paragraph(notes, 2);
}

void show_checklist(TextPage& page, const Report& r) {
  if (r.checklist.empty()) return;
  page.heading("CHECKLIST");
  for (const auto& c : r.checklist) {
    std::string summary = c.summary.empty() ? std::string(kAbsent) : c.summary;
    if (c.begins_here && names_origin(r) && summary.find("begins here") == std::string::npos)
      summary += "; the waiting begins here";
    const std::string_view status = c.status == CheckStatus::suspect ? "suspect"
                                    : c.status == CheckStatus::clear ? "clear"
                                                                     : "unobserved";
    page.paragraph(summary, 36,
                   "  " + pad_right(page.cut(fmt::format("{} {}", c.step, c.name), 21), 22) +
                       std::string(status));
  }
}

void show_symptoms(TextPage& page, const Report& r) {
  const double productive = r.attribution.productive_fraction;
  if (r.symptoms.empty() && !std::isfinite(productive)) return;
  page.heading("SIGNALS");
  const auto row = [&](const std::string& name, const std::string& value) {
    const std::string shown = page.cut(value, 40);
    const std::string left = page.cut("  " + name, kColumns - display_width(shown) - 1);
    page.line(left + pad_left(shown, kColumns - display_width(left)));
  };
  for (const auto& s : r.symptoms)
    row(signal_words(s.signal) + (s.shape.empty() ? "" : ", " + s.shape),
        change_text(s.before, s.now, s.unit));
  if (std::isfinite(productive)) row("Computing, share of each step", percent(productive));
}

// A job's id as a file name; "report" when there is none or it holds what a shell would take apart.
std::string page_name(const std::string& id) {
  const bool plain =
      !id.empty() && id.front() != '.' && std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
      });
  return plain ? id : "report";
}

void show_list(TextPage& page, std::string_view title, const std::vector<std::string>& lines,
               size_t most) {
  if (lines.empty()) return;
  page.heading(title);
  for (size_t i = 0; i < lines.size() && i < most; ++i)
    page.paragraph(lines[i], 4, "  " + std::string(page.glyphs().none));
  and_more(page, lines.size(), most, 4);
}

void show_health(TextPage& page, const Report& r) {
  const auto entries = health_by_severity(r.input_health);
  for (size_t i = 0; i < entries.size() && i < kMostHealth; ++i) {
    const HealthEntry& e = *entries[i];
    page.paragraph(health_sentence(e), 14);
  }
  and_more(page, entries.size(), kMostHealth, 14);
}

void show_end(TextPage& page, const Report& r, const TextOptions& options) {
  page.blank();
  if (const auto line = recovery_line(r); !line.empty()) page.labelled("RECOVERY", line);
  for (size_t i = 0; i < r.next_measurements.size() && i < kMostNext; ++i) {
    const auto& n = r.next_measurements[i];
    std::string text = n.text;
    if (!n.decides.empty()) text += ": decides " + list_text(n.decides, 4);
    page.labelled(i == 0 ? "MEASURE NEXT" : "", text);
  }
  page.labelled("INPUT", input_summary(r));
  show_health(page, r);
  if (!options.input.empty())
    page.labelled("NEXT", fmt::format("firstwait diagnose {} --format html --out {}.html",
                                      options.input, page_name(r.job.id)));
}

}  // namespace

std::string text_report(const Report& r, const TextOptions& options) {
  TextPage page(options);
  if (!options.command.empty()) {
    page.line(page.safe("$ " + options.command));
    page.blank();
  }
  std::string subject = r.job.id.empty() && r.label.empty() ? "This job" : job_title(r);
  if (const auto line = subject_line(r); !line.empty()) subject += " · " + line;
  page.paragraph(subject);
  page.rule();
  say_verdict(page, r);
  show_ledger(page, r);
  show_chain(page, r);
  show_evidence(page, r);
  show_other_findings(page, r);
  show_list(page, "WITHOUT STRAGGLERS", what_if_lines(r), kMostSeen);
  show_list(page, "ALSO SEEN", also_seen(r), kMostSeen);
  show_rivals(page, r);
  show_actions(page, r);
  show_checklist(page, r);
  show_symptoms(page, r);
  show_end(page, r, options);
  return page.take();
}

}  // namespace firstwait
