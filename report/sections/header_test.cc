// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sections/sections.h"

namespace stab::report {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(LayoutsText, WarnsOfFewLayoutsAndOfFixedHeapsEachByItself) {
  Layouts layouts{.randomized = 9};
  EXPECT_EQ(layouts_text(layouts), "9 of 9 trials randomized");
  layouts.period_is_chosen = true;
  EXPECT_EQ(layouts_text(layouts), "9 of 9 trials randomized");
  layouts.few_epochs = 3;
  EXPECT_EQ(layouts_text(layouts),
            "9 of 9 trials randomized; warning: 3 had fewer than 30 layouts: choose longer runs");
  layouts.median_epochs = 2;
  EXPECT_THAT(layouts_text(layouts),
              EndsWith("randomized; median of 2 layouts per run; warning: 3 had fewer than 30 "
                       "layouts: choose longer runs"));
  layouts.period_is_chosen = false;
  EXPECT_THAT(layouts_text(layouts),
              EndsWith("warning: 3 had fewer than 30 layouts: choose a shorter period or longer "
                       "runs"));
  layouts = {.randomized = 9, .median_fixed = 0.6, .fixed_heaps = 5, .period_is_chosen = true};
  EXPECT_THAT(layouts_text(layouts),
              HasSubstr("warning: in 5, more than half of the heap's bytes"));
  EXPECT_THAT(layouts_text(layouts), Not(HasSubstr("layouts")));
}

TEST(LayoutsText, AShortOneHasTheWarningsWithoutWhatIsUsual) {
  Layouts layouts{.randomized = 9,
                  .kinds = "code heap repeated 500ms",
                  .least_share = 0.99,
                  .median_share = 0.9976,
                  .median_epochs = 2,
                  .median_fixed = 0.6,
                  .fixed_heaps = 5,
                  .few_epochs = 9,
                  .period_is_chosen = true};
  EXPECT_EQ(
      layouts_text(layouts, true),
      "9 of 9 trials randomized (code, again every 500 ms, and heap blocks); median of 2 layouts "
      "per run; warning: 9 had fewer than 30 layouts: choose longer runs; warning: in 5, most of "
      "the heap's bytes were not placed at random");
  layouts.least_share = 0.2;
  EXPECT_THAT(layouts_text(layouts, true),
              HasSubstr("; 99.76 % of their code moved (at least 20 %); median of 2"));
}

TEST(LayoutsText, KindsAreWords) {
  const auto words = [](const std::string& kinds) { return kinds_text({.kinds = kinds}); };
  EXPECT_EQ(words("code once"), "code once");
  EXPECT_EQ(words("code stack once"), "code and stack frames once");
  EXPECT_EQ(words("code stack repeated 500ms"), "code and stack frames, again every 500 ms");
  EXPECT_EQ(
      words("code stack heap layer repeated 250us budget 20%"),
      "code and stack frames, again every 250 us, with a budget of 20 % of CPU time, and heap "
      "blocks");
  EXPECT_EQ(words("code repeated 5ms budget off"), "code, again every 5 ms, without a budget");
  EXPECT_EQ(words("heap layer once, heap shuffled once"), "heap blocks");
  EXPECT_EQ(words("code once, code repeated"), "code once or code, again and again");
  EXPECT_EQ(words("of another version"), "of another version");
  EXPECT_EQ(words(""), "");
}

TEST(RelativeText, NamesTheCommandBeside) {
  EXPECT_EQ(relative_text({}), "");
  Document document;
  document.beside = "old";
  EXPECT_EQ(relative_text(document), "to the CPU time of old, which ran beside each trial");
}

TEST(LoadText, OfNothingSaysNothing) {
  EXPECT_EQ(load_text({}), "");
}

TEST(LoadText, OfAQuietMachineWarnsOfNothing) {
  EXPECT_EQ(load_text({.others = 0.02, .stolen = 0.0004, .known = 160, .kept_waiting = 16}),
            "other programs kept 0.02 CPUs busy on average; the host took 0.04 % of the trials' "
            "time; 16 of 160 trials waited for their CPU");
}

TEST(LoadText, OfABusyOneWarns) {
  EXPECT_THAT(load_text({.others = 0.25}), HasSubstr("warning: the machine was busy"));
  EXPECT_THAT(load_text({.stolen = 0.01}), HasSubstr("warning: the machine was busy"));
  EXPECT_THAT(load_text({.known = 160, .kept_waiting = 17}),
              HasSubstr("17 of 160 trials waited for their CPU; warning: the machine was busy"));
  EXPECT_THAT(load_text({.others = 0.24, .stolen = 0.009}), Not(HasSubstr("warning")));
}

TEST(OutputsText, OfNoneSaysNothing) {
  EXPECT_EQ(outputs_text({}), "");
}

TEST(OutputsText, NamesTheFactorAndWarns) {
  EXPECT_EQ(
      outputs_text({{.benchmark = "sort",
                     .trials = 60,
                     .different = 2,
                     .factors = {"opt", "link_order"},
                     .cells = 2}}),
      "sort prints different output at different levels of opt, link_order (2 different outputs in "
      "60 trials); warning: levels may not do the same work: see the plan key 'check'");
  EXPECT_THAT(outputs_text({{.benchmark = "sort", .trials = 60, .different = 3, .cells = 4}}),
              HasSubstr("sort prints different output in different cells (3 different outputs"));
}

TEST(OutputsText, TrialsOfOneCellThatDifferAreAnotherMatter) {
  const Outputs varying{
      .benchmark = "time", .trials = 60, .different = 60, .cells = 2, .varying_cells = 1};
  EXPECT_EQ(outputs_text({varying}),
            "time prints different output in trials of the same cell (60 different outputs in 60 "
            "trials; this happened in 1 of 2 cells); if trials of the same cell differ, a "
            "difference between levels cannot be seen");
  const Outputs by_level{
      .benchmark = "sort", .trials = 60, .different = 2, .factors = {"opt"}, .cells = 2};
  EXPECT_THAT(outputs_text({varying, by_level}),
              AllOf(StartsWith("sort prints different output"), HasSubstr("warning"),
                    EndsWith("a difference between levels cannot be seen")));
  EXPECT_THAT(outputs_text({varying, varying, varying, varying}),
              HasSubstr("; and 1 more; if trials"));
}

}  // namespace
}  // namespace stab::report
