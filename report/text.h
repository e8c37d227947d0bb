// SPDX-License-Identifier: MIT
// The report for a terminal: plain text, or coloured if asked. A short report is one screen, 25
// lines of 80 columns: the answer in the question's order, reasons to trust it or not, one table,
// and the next step. Long names lose their middles, and the table loses columns, so that no line is
// wider. A full report has everything. Reports of causal profiles and calibrations may
// be longer than a screen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/model.h"

namespace stab::report {

// The width of paragraphs and of tables with a picture. Other tables are as wide as their cells
// need.
inline constexpr std::size_t page_width = 100;
inline constexpr std::size_t least_page_width = 60;

// The width of a report for a terminal with this number of columns.
constexpr std::size_t fitting(std::size_t columns) {
  return std::clamp(columns, least_page_width, page_width);
}

struct TextOptions {
  bool colour = false;
  bool full = false;
  std::size_t width = page_width;
  // Sentences, one on each line, that a full report has in the place of its own answer, and only at
  // its top; "": its own answer, which it repeats at its end.
  std::string_view answer{};
};

inline constexpr std::size_t screen_lines = 25;
inline constexpr std::size_t screen_width = 80;

// The content of a short report. Its last line counts the items and columns that do not fit.
struct Screen {
  struct Known {
    std::string label{};
    std::string text{};
    bool is_needed = false;  // it gets its lines before those that are not
    bool is_in_full = true;  // the full report has it, too
  };
  std::string title{};
  std::string question{};             // "": the plan has none
  std::vector<std::string> answer{};  // sentences, the most important one first
  std::string said{};                 // the end of the output of the first failed build or trial
  std::size_t said_behind = 1;        // `said` comes after this number of sentences
  std::size_t kept_sentence = 0;      // it gets its lines before others, as the first one does
  std::vector<Known> trust{};         // reasons to trust the answer or not, the gravest first
  std::vector<const stats::Analysis*> numbers{};  // the table shows the changes of these analyses
  std::vector<std::string> notes{};               // they fill the lines that are left
  std::string next{};                             // the next step; "": nothing in particular
  std::string full{};     // describes what --full adds; "": there is no such flag
  std::string command{};  // shows the full report without measuring again; "": not needed
};
Screen screen_of(const Document& document);
std::string shown(const Screen& screen, const TextOptions& options);

// Ends with a newline.
std::string text(const Document& document, const TextOptions& options = {});

// For an analysis that belongs to no experiment, or to several experiments.
std::string analysis_text(std::string_view title, const stats::Analysis& analysis,
                          const TextOptions& options = {});

}  // namespace stab::report
