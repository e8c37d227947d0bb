// SPDX-License-Identifier: MIT
// A text report on a narrow terminal, and a screen with long names.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/sample_document.h"
#include "report/text.h"
#include "report/text_testing.h"
#include "report/words/grid.h"

namespace stab::report {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Width, ParagraphsFitANarrowTerminalAndTablesLeaveOutPictures) {
  const auto wide = lines_of(text(sample_document(), full));
  const auto narrow = lines_of(text(sample_document(), {.full = true, .width = 60}));
  EXPECT_GT(narrow.size(), wide.size());
  for (const std::string& line : narrow) {
    if (display_width(line) <= 60) continue;
    EXPECT_TRUE(
        std::ranges::any_of(wide, [&](const std::string& each) { return each.starts_with(line); }))
        << "no row of a table: " << line;
  }
}

TEST(Width, IsThatOfTheTerminalWithinBounds) {
  EXPECT_EQ(fitting(1), 60U);
  EXPECT_EQ(fitting(80), 80U);
  EXPECT_EQ(fitting(200), page_width);
}

// "ax...x1": names of one length that differ at their ends.
std::string long_name(char first, std::size_t length, std::size_t number) {
  return first + std::string(length - 2, 'x') + fmt::format("{}", number);
}

struct Lengths {
  std::size_t subject = 0;  // 0: a single benchmark without a name
  std::size_t treatment = 2;
  std::size_t level = 2;
};

// Eight blocks of one or two benchmarks and of treatments with two levels each.
Document with_names(std::size_t treatments, const Lengths& lengths) {
  const std::size_t subjects = lengths.subject == 0 ? 1 : 2;
  stats::Column benchmark{.name = "benchmark"};
  for (std::size_t s = 0; s < subjects; ++s)
    benchmark.levels.push_back(long_name('b', std::max<std::size_t>(lengths.subject, 2), s));
  std::vector<stats::Column> factors;
  stats::Spec spec{.block = "block"};
  for (std::size_t t = 0; t < treatments; ++t) {
    factors.push_back({.name = long_name('t', lengths.treatment, t)});
    spec.treatments.push_back(factors.back().name);
    for (std::size_t l = 0; l < 2; ++l)
      factors.back().levels.push_back(long_name('v', lengths.level, l));
  }
  stats::Column block{.name = "block"};
  stats::Dataset data;
  for (std::uint32_t b = 0; b < 8; ++b) {
    block.levels.push_back(fmt::format("{}", b));
    for (std::uint32_t s = 0; s < subjects; ++s)
      for (std::uint32_t cell = 0; cell < (1U << treatments); ++cell) {
        block.codes.push_back(b);
        benchmark.codes.push_back(s);
        for (std::size_t t = 0; t < treatments; ++t) factors[t].codes.push_back(cell >> t & 1U);
        data.response.push_back(1e6 * (100 + 30.0 * (cell & 1U) + noise(b, cell)));
      }
  }
  data.columns = factors;
  data.columns.push_back(block);
  if (lengths.subject > 0) {
    data.columns.push_back(benchmark);
    spec.subject = "benchmark";
  }
  Document document = sample_document();
  document.analysis = stats::analyse(data, spec);
  return document;
}

TEST(Width, ScreensKeepTheirColumnsAndLinesWithNamesOfAnyLength) {
  for (const std::size_t treatments : {1UL, 2UL})
    for (const std::size_t subject : {0UL, 4UL, 25UL, 60UL})
      for (const std::size_t treatment : {3UL, 30UL})
        for (const std::size_t level : {2UL, 20UL, 40UL, 90UL}) {
          Document document = with_names(treatments, {subject, treatment, level});
          document.experiment = std::string(subject + level, 'e');
          ASSERT_EQ(document.analysis.effects.size(), treatments * (subject > 0 ? 2 : 1));
          for (const std::size_t width : {60UL, 80UL, 100UL}) {
            const std::string screen = text(document, {.width = width});
            for (const std::string& line : lines_of(screen))
              EXPECT_LE(display_width(line), std::min<std::size_t>(width, 80)) << screen;
            EXPECT_LE(lines_of(screen).size(), 25U) << screen;
            EXPECT_THAT(screen, ContainsRegex("\n  [bct].* verdict\n")) << "there is a table";
          }
        }
}

TEST(Width, ColumnsGoBeforeNamesCannotBeRead) {
  const auto table = [](const Document& document) {
    const std::string screen = text(document, {.width = 80});
    for (const std::string& line : lines_of(screen))
      if (line.ends_with(" verdict")) return screen.substr(screen.find(line));
    return screen;
  };
  const std::string wide = table(with_names(1, {}));
  EXPECT_THAT(wide, AllOf(HasSubstr("wall time"), HasSubstr("  p  "), Not(HasSubstr(" column"))));
  const std::string long_levels = table(with_names(1, {.level = 30}));
  EXPECT_THAT(long_levels,
              AllOf(HasSubstr("wall time"), HasSubstr("95 % interval"), Not(HasSubstr("  p  "))));
  EXPECT_THAT(words_of(long_levels), HasSubstr(" 1 more column, "));
  // Two treatments of two benchmarks.
  const std::string many = table(with_names(2, {.subject = 25, .treatment = 3, .level = 20}));
  EXPECT_THAT(many, AllOf(HasSubstr("verdict"), Not(HasSubstr("interval"))));
  EXPECT_THAT(words_of(many), HasSubstr(" 2 more columns, "));
  EXPECT_THAT(many,
              ContainsRegex("\n  bx+\\.\\.\\.x+0  tx0: vx+\\.\\.\\.x+0 -> vx+\\.\\.\\.x+1  "));
}

}  // namespace
}  // namespace stab::report
