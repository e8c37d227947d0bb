// SPDX-License-Identifier: MIT
#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/grid.h"
#include "report/sample_document.h"

namespace stab::report {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Text, SaysTheAnswerFirstAndLast) {
  const std::string report = text(sample_document());
  const std::string start =
      "Answer: over 6 benchmarks, opt: O2 is faster than O1: 2.5 % less wall time";
  EXPECT_LT(report.find(start), report.find("Wall time"));
  EXPECT_GT(report.rfind(start), report.find("Failures"));
}

TEST(Text, HoldsTheTablesWithTheirNumbers) {
  const std::string report = text(sample_document());
  EXPECT_THAT(report, HasSubstr("  sort       O1        5  196.9 ms  195.2 to 198.5 ms  0.68 %\n"));
  EXPECT_THAT(report,
              HasSubstr("  all 6 benchmarks  opt        O1 -> O2     -2.5 %    -3.7 to -1.3 "
                        "%   0.00364     0.00364  faster\n"));
  EXPECT_THAT(report, HasSubstr("all 6 benchmarks: log(wall) ~ opt + Error(benchmark/opt)\n"));
  EXPECT_THAT(
      report,
      HasSubstr(
          "  benchmark:opt  opt         1        0.009523     0.009523  26.42  0.00364  0.841 ("));
  EXPECT_THAT(report, HasSubstr("  matrix                0.523            0.729"));
  EXPECT_THAT(report, HasSubstr("  - sort at opt=O2: timeout after 60 s (2 trials)\n"));
  EXPECT_THAT(report, HasSubstr("60 ok, 2 failed of 62 planned, in 2 min 5 s"));
}

TEST(Text, SaysWhatWasRandomized) {
  Document document = sample_document();
  EXPECT_THAT(text(document), Not(HasSubstr("Layout")));
  document.layouts = {.randomized = 30,
                      .unrandomized = 30,
                      .kinds = "code once",
                      .least_share = 0.97,
                      .median_share = 0.9842,
                      .median_epochs = 1};
  EXPECT_THAT(text(document),
              HasSubstr("  Layout    30 of 60 trials randomized (code once); 98.42 % of their code "
                        "moved (at least 97 %)\n"));
  document.layouts = {.randomized = 60,
                      .kinds = "code repeated",
                      .least_share = 1,
                      .median_share = 1,
                      .median_epochs = 41.5,
                      .few_epochs = 2};
  const std::string repeated = text(document);
  EXPECT_THAT(repeated, HasSubstr("60 of 60 trials randomized (code repeated); 100 % of their"));
  EXPECT_THAT(repeated, HasSubstr("median of\n            41.5 layouts a run"));
  EXPECT_THAT(repeated, HasSubstr("warning: 2"));
  EXPECT_THAT(repeated, HasSubstr("fewer than 30 layouts"));
}

TEST(Text, SaysWhichDirectionIsBetter) {
  EXPECT_THAT(text(sample_document()), HasSubstr("less is better"));
  EXPECT_THAT(text(sample_document()), HasSubstr("negative is faster"));
  Document document = sample_document();
  document.analysis.spec.unit = stats::Unit::bytes;
  EXPECT_THAT(text(document), HasSubstr("negative is lower"));
  EXPECT_THAT(text(document), HasSubstr("MiB"));
}

TEST(Text, FitsTheTerminalAndHasNoEscapesUnlessAskedFor) {
  const std::string plain = text(sample_document());
  for (const std::string& line : lines_of(plain)) EXPECT_LE(display_width(line), 100U) << line;
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(plain, EndsWith("\n"));
  EXPECT_THAT(text(sample_document(), {.colour = true}), HasSubstr("\x1b[32mfaster\x1b[0m"));
}

TEST(Text, ColourChangesNothingElse) {
  std::string coloured = text(sample_document(), {.colour = true});
  for (std::size_t at = 0; (at = coloured.find('\x1b')) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) + 1 - at);
  EXPECT_EQ(coloured, text(sample_document()));
}

TEST(Text, AnExperimentWithoutResultsSaysWhy) {
  Document document;
  document.experiment = "empty";
  document.state = "failed";
  document.reason = "no build succeeded";
  document.analysis = stats::analyse({}, {});
  const std::string report = text(document);
  EXPECT_THAT(report, HasSubstr("Reason    no build succeeded"));
  EXPECT_THAT(report, HasSubstr("cannot tell"));
  EXPECT_THAT(report, HasSubstr("There is no trial that can be analysed."));
  EXPECT_THAT(report, Not(HasSubstr("Analysis of variance")));
}

TEST(Text, ControlCharactersNeverReachTheTerminal) {
  Document document = sample_document();
  document.experiment = "a\x1b[2Jb";
  document.failures = {"one\ntwo\x07"};
  document.analysis.means[0].levels[0] = "O\x1b[31m";
  const std::string report = text(document);
  EXPECT_THAT(report, Not(HasSubstr("\x1b")));
  EXPECT_THAT(report, Not(HasSubstr("\x07")));
}

TEST(Text, VarianceComponentsAreShownForNestedDesigns) {
  Document document;
  stats::Spec spec;
  spec.design = stats::Design::nested;
  spec.treatments = {"opt"};
  spec.seed = "seed";
  document.analysis = stats::analyse(stats::oracle::seeds(3, 2, 6, 3), spec);
  const std::string report = text(document);
  EXPECT_THAT(report, HasSubstr("sd between seeds"));
  EXPECT_THAT(report, HasSubstr("1.73 %"));  // 100 sqrt(0.000298967)
  EXPECT_THAT(report, HasSubstr("97 %"));
}

}  // namespace
}  // namespace stab::report
