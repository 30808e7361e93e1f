#include "present/text_page.h"

#include <algorithm>

#include "present/layout.h"
#include "present/utf8.h"

namespace firstwait {
namespace {

constexpr Glyphs kUtf8Glyphs = {"◉", "○", "✗", "✓", "─", "–", "·"};
constexpr Glyphs kAsciiGlyphs = {"(o)", "o", "x", "v", "-", "-", "-"};
constexpr std::string_view kBold = "\x1b[1m", kRed = "\x1b[31m", kBoldRed = "\x1b[1;31m",
                           kReset = "\x1b[0m";

size_t solid_bytes(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return c != ' '; }));
}

}  // namespace

TextPage::TextPage(const TextOptions& options)
    : options_(options), glyphs_(options.utf8 ? kUtf8Glyphs : kAsciiGlyphs) {}

std::string TextPage::safe(std::string_view text) const {
  std::string clean = clean_text(text);
  return options_.utf8 ? clean : fold_ascii(clean);
}

std::string TextPage::cut(std::string_view text, size_t width) const {
  return clip(safe(text), width, options_.utf8 ? "…" : "~");
}

std::string TextPage::bold(std::string_view text) const {
  if (!options_.colour || text.empty()) return std::string(text);
  return std::string(kBold).append(text).append(kReset);
}

std::string TextPage::red(std::string_view text) const {
  if (!options_.colour || text.empty()) return std::string(text);
  return std::string(kRed).append(text).append(kReset);
}

void TextPage::line(std::string_view text) {
  const size_t end = text.find_last_not_of(' ');
  out_ += clip(text.substr(0, end == std::string_view::npos ? 0 : end + 1), kColumns,
               options_.utf8 ? "…" : "~");
  out_ += '\n';
}

void TextPage::red_line(std::string_view text) {
  out_ += red(clip(text, kColumns, options_.utf8 ? "…" : "~")) + "\n";
}

void TextPage::blank() { out_ += '\n'; }

void TextPage::rule() {
  std::string text;
  for (size_t i = 0; i < kColumns; ++i) text += glyphs_.rule;
  line(text);
}

void TextPage::heading(std::string_view title, std::string_view right, size_t right_end) {
  blank();
  const std::string left = safe(title);
  const size_t used = display_width(left);
  const std::string rest =
      right.empty() || right_end <= used ? std::string() : pad_left(safe(right), right_end - used);
  out_ += bold(left) + rest + "\n";
}

void TextPage::paragraph(std::string_view text, size_t indent, std::string_view first) {
  const std::string lead(indent, ' ');
  bool at_start = true;
  for (const auto& part : wrap(safe(text), kColumns - indent)) {
    line((at_start && !first.empty() ? pad_right(first, indent) : lead) + part);
    at_start = false;
  }
}

void TextPage::labelled(std::string_view label, std::string_view text) {
  constexpr size_t kIndent = 14;
  const auto lines = wrap(safe(text), kColumns - kIndent);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string left = i == 0 ? safe(label) : std::string();
    const size_t used = display_width(left);
    out_ += bold(left) + std::string(used < kIndent ? kIndent - used : 1, ' ') + lines[i] + "\n";
  }
}

void TextPage::sentence(std::string_view claim, std::string_view reason, bool red_reason) {
  const std::string claimed = safe(claim);
  const size_t claim_bytes = solid_bytes(claimed);
  size_t seen = 0;
  for (const auto& part : wrap(claimed + " " + safe(reason), kColumns)) {
    const size_t here = solid_bytes(part);
    if (!red_reason || reason.empty() || seen + here <= claim_bytes) {
      out_ += bold(part) + "\n";
    } else {
      size_t cut = 0;
      while (seen < claim_bytes && cut < part.size())
        if (part[cut++] != ' ') ++seen;
      while (cut > 0 && cut < part.size() && part[cut] == ' ') ++cut;
      out_ += bold(part.substr(0, cut));
      const std::string rest = part.substr(cut);
      out_ += options_.colour ? std::string(kBoldRed).append(rest).append(kReset) : rest;
      out_ += '\n';
      seen = claim_bytes + 1;
      continue;
    }
    seen += here;
  }
}

}  // namespace firstwait
