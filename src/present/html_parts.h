// Pieces that the pages share: escaping, signs, the frame of a page.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/verdict.h"

namespace firstwait {

// Clean text (utf8.h) in which nothing can open or close a tag, an attribute or an entity.
std::string html_text(std::string_view text);

// The style sheet: both themes by the reader's preference, light on paper.
std::string_view html_style();

// From the doctype to the opened <main>; and from there to the end, with the JSON inside as data.
std::string html_head(std::string_view title);
std::string html_foot(std::string_view json, std::string_view notes);

enum class Sign : uint8_t { origin, slow, suspect, clear, unobserved, refuted };
std::string sign_svg(Sign sign);  // 12 by 12, hidden from screen readers: a word stands beside it

// "var(--input-wait)".
std::string phase_colour(Phase phase);
bool phase_is_hatched(Phase phase);

// A card with a title, a remark beside it, and what `body` holds. `anchor` may be empty.
std::string html_card(std::string_view title, std::string_view remark, std::string_view body,
                      std::string_view anchor = {});
std::string html_health(const std::vector<HealthEntry>& entries, size_t most);

}  // namespace firstwait
