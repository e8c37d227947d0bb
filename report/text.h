// SPDX-License-Identifier: MIT
// The report for a terminal: plain text unless colour is asked for. A short one is one screen, 25
// lines of 80 columns: the answer in the question's order, what decides whether to trust it, one
// table, and what to do next. A full one has everything. Causal profiles and calibrations are as
// long as they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

inline constexpr std::size_t screen_lines = 25;
inline constexpr std::size_t screen_width = 80;

// What stands on one screen. What has no room is counted in its last line.
struct Screen {
  struct Known {
    std::string label{};
    std::string text{};
  };
  std::string title{};
  std::string question{};             // "": none was asked
  std::vector<std::string> answer{};  // a sentence each, the most important one first
  std::string said{};                 // the end of what the first failed build or trial printed
  std::size_t said_behind = 1;        // so many sentences of the answer
  std::vector<Known> trust{};         // what decides whether to believe it, the gravest first
  std::vector<const stats::Analysis*> numbers{};  // whose changes the table shows
  std::vector<std::string> notes{};               // fill the lines that are left
  std::string next{};                             // what to do now; "": nothing in particular
  std::string full{};                             // what --full adds; "": there is no such flag
};
Screen screen_of(const Document& document);
std::string shown(const Screen& screen, const TextOptions& options);

// Ends with a newline.
std::string text(const Document& document, const TextOptions& options = {});

// An analysis that belongs to no experiment, or to several.
std::string analysis_text(std::string_view title, const stats::Analysis& analysis,
                          const TextOptions& options = {});

}  // namespace stab::report
