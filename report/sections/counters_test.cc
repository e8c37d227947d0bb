// SPDX-License-Identifier: MIT
// What a text report says of the events and of the plan's own measures that trials have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sample_document.h"
#include "report/text.h"
#include "report/text_testing.h"

namespace stab::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Counters, MeasuresHaveTheirUnitsAndReasons) {
  Document document = sample_document();
  EXPECT_THAT(text(document, full), Not(HasSubstr("Measures")));
  document.measures = {{.name = "ops", .unit = "1/s", .counted = 12, .median = 2.5},
                       {.name = "heap", .unit = "bytes", .counted = 12, .median = 2048.0},
                       {.name = "ipc", .absent = 12, .reason = "cycles is absent: no PMU"}};
  EXPECT_THAT(text(document, full),
              AllOf(HasSubstr("Measures\n"), HasSubstr("2.5 1/s"), HasSubstr("2 KiB"),
                    HasSubstr("ipc: absent in 12 of the trials: cycles is absent: no PMU")));
}

TEST(Counters, CountersSayInHowManyTrialsTheyWereAndWhyNot) {
  Document document = sample_document();
  EXPECT_THAT(text(document, full), Not(HasSubstr("Counters")));
  document.counters = {{.name = "task-clock", .unit = "ns", .counted = 12, .median = 1'234'567.0},
                       {.name = "cycles",
                        .counted = 3,
                        .scaled = 8,
                        .absent = 1,
                        .left_out = 2,
                        .least_coverage = 0.25,
                        .median = 5e6,
                        .reason = "it never had a counter"},
                       {.name = "cs:u", .absent = 12, .reason = "it happens in the kernel"}};
  EXPECT_THAT(
      text(document, full),
      HasSubstr("Counters\n  Event counts in the successful trials of all cells.\n\n  event       "
                "trials    median\n  task-clock      12  1.235 ms\n  cycles          11     "
                "5e+06\n  cs:u             0         -\n\n  cycles: scaled in 8 of the trials"));
  EXPECT_THAT(
      words_of(text(document, full)),
      HasSubstr(
          "cycles: scaled in 8 of the trials (in each of them, counted for at least 25 % of the "
          "time); 2 of the scaled values were left out, because they cover less than half the "
          "time; "
          "absent in 1 of the trials: it never had a counter cs:u: absent in 12 of the trials: it "
          "happens in the kernel"));
}

}  // namespace
}  // namespace stab::report
