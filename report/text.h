// SPDX-License-Identifier: MIT
// The report for a terminal: plain text unless colour is asked for. A short one, of at most 100
// columns where names allow it, has the answer, the changes and what a reader must know of the
// rest, and says last what a full one adds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "report/model.h"

namespace stab::report {

// Of paragraphs, and of tables that have a picture; other tables are as wide as they must be.
inline constexpr std::size_t page_width = 96;
inline constexpr std::size_t least_page_width = 60;

// The width of a report for a terminal of so many columns.
constexpr std::size_t fitting(std::size_t columns) {
  return std::clamp(columns, least_page_width, page_width);
}

struct TextOptions {
  bool colour = false;
  bool full = false;
  std::size_t width = page_width;
};

// Ends with a newline.
std::string text(const Document& document, const TextOptions& options = {});

// An analysis that belongs to no experiment, or to several.
std::string analysis_text(std::string_view title, const stats::Analysis& analysis,
                          const TextOptions& options = {});

}  // namespace stab::report
