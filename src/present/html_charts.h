// The charts of the report: rows that share one axis, each an image with a sentence, no script.
#pragma once
#include <string>

#include "present/html_axis.h"

namespace firstwait {

std::string ledger_row_html(const Report& report, const Axis& axis);
std::string heatmap_row_html(const Report& report, const Axis& axis);
std::string lane_rows_html(const Report& report, const Axis& axis);
std::string event_row_html(const Report& report, const Axis& axis);
std::string tick_row_html(const Report& report, const Axis& axis);

// A row of the axis: what it is, the plot of a height in pixels, what to read from it. All parts
// are markup.
std::string axis_row(std::string_view left, std::string_view plot, int height,
                     std::string_view right);

}  // namespace firstwait
