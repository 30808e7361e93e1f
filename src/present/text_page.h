// A page of text, 80 columns wide, for a terminal: glyphs and colours by option, untrusted text
// made safe.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "present/present.h"

namespace firstwait {

inline constexpr size_t kColumns = 80;

struct Glyphs {
  std::string_view ring, link, refuted, clear, rule, dash, none;
};

class TextPage {
 public:
  explicit TextPage(const TextOptions& options);

  const Glyphs& glyphs() const { return glyphs_; }
  bool utf8() const { return options_.utf8; }
  // Every text that is shown goes through here before it is measured.
  std::string safe(std::string_view text) const;
  // Safe text cut to a width.
  std::string cut(std::string_view text, size_t width) const;

  // One line of safe text, cut at 80 columns.
  void line(std::string_view text);
  void red_line(std::string_view text);
  void blank();
  void rule();
  // A blank line, then the title in capitals; `right` ends the line at column `right_end`.
  void heading(std::string_view title, std::string_view right = {}, size_t right_end = kColumns);
  // Wrapped, each line after `indent` blanks, the first one behind `first` instead.
  void paragraph(std::string_view text, size_t indent = 0, std::string_view first = {});
  // `label` (bold) in the first 14 columns, the wrapped text beside it.
  void labelled(std::string_view label, std::string_view text);
  // A wrapped sentence in bold whose `reason` is red.
  void sentence(std::string_view claim, std::string_view reason, bool red);

  std::string take() { return std::move(out_); }

 private:
  std::string bold(std::string_view text) const;
  std::string red(std::string_view text) const;

  TextOptions options_;
  Glyphs glyphs_;
  std::string out_;
};

}  // namespace firstwait
