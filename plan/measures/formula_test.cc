// SPDX-License-Identifier: MIT
#include "plan/measures/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace stab::plan {
namespace {

using counters::Number;
using counters::Reading;
using counters::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Of "a" 6, "b" 4, "page-faults" 7, "half" scaled from 0.5, "rare" scaled from 0.25, "big", "gone" that is absent.
std::optional<Reading> find(std::string_view name) {
  const auto whole = [&](std::int64_t value) {
    return counters::counted(std::string(name), "", value);
  };
  if (name == "a") return whole(6);
  if (name == "b") return whole(4);
  if (name == "page-faults") return whole(7);
  if (name == "big") return whole(std::numeric_limits<std::int64_t>::max());
  if (name == "half" || name == "rare")
    return Reading{.name = std::string(name),
                   .status = Status::scaled,
                   .value = 10.5,
                   .coverage = name == "half" ? 0.5 : 0.25};
  if (name == "gone") return counters::absent("gone", "", "there is no PMU");
  return std::nullopt;
}

Reading result_of(std::string_view text) {
  const auto formula = parse_formula(text);
  EXPECT_TRUE(formula) << text << ": " << formula.error().message;
  return formula ? evaluate("m", *formula, find) : Reading{};
}
Number value_of(std::string_view text) {
  const Reading reading = result_of(text);
  EXPECT_EQ(reading.status, Status::counted) << text << ": " << reading.reason;
  return reading.value;
}
std::string error_of(std::string_view text) {
  const auto formula = parse_formula(text);
  return formula ? "" : std::to_string(formula.error().at) + ": " + formula.error().message;
}

TEST(Formula, MultipliesBeforeItAddsAndGoesFromLeftToRight) {
  EXPECT_EQ(value_of("1 + 2 * 3"), Number(7));
  EXPECT_EQ(value_of("(1+2)*3"), Number(9));
  EXPECT_EQ(value_of("10 - 4 - 3"), Number(3));
  EXPECT_EQ(value_of("16 / 4 / 2"), Number(2.0));
  EXPECT_EQ(value_of("-a + 10"), Number(4));
  EXPECT_EQ(value_of("2 * -b"), Number(-8));
  EXPECT_EQ(value_of("a - -1"), Number(7));
}

TEST(Formula, ADivisionIsRealAndTheRestStaysWhole) {
  EXPECT_EQ(value_of("a / b"), Number(1.5));
  EXPECT_EQ(value_of("big - 1"), Number(std::numeric_limits<std::int64_t>::max() - 1));
  EXPECT_EQ(value_of("big + 1"), Number(0x1p63));
  EXPECT_EQ(value_of("big * 2"), Number(0x1p64));
  EXPECT_EQ(value_of("-big - 9"), Number(-0x1p63));
}

TEST(Formula, NumbersAreDecimal) {
  EXPECT_EQ(value_of("1000"), Number(1000));
  EXPECT_EQ(value_of("0.25"), Number(0.25));
  EXPECT_EQ(value_of(".5e1 + 1E-1"), Number(5.1));
  EXPECT_EQ(value_of("1e3"), Number(1000.0));
}

TEST(Formula, NamesWithOtherCharactersStandInQuotes) {
  EXPECT_EQ(value_of("'page-faults' + a"), Number(13));
  EXPECT_EQ(value_of("\"page-faults\"*2"), Number(14));
  EXPECT_THAT(names_in(*parse_formula("a_1.x / ('L1:u' - a_1.x) + \"it's\"")),
              ElementsAre("a_1.x", "L1:u", "it's"));
  EXPECT_THAT(names_in(*parse_formula("page-faults")), ElementsAre("page", "faults"));
  EXPECT_EQ(parse_formula("1 + 'cs'")->at(1).at, 6U);
}

TEST(Formula, AMistakeHasItsPlace) {
  EXPECT_EQ(error_of("a +"), "4: a name or a number is missing at the end");
  EXPECT_EQ(error_of(""), "1: a name or a number is missing at the end");
  EXPECT_EQ(error_of("(a"), "3: an operator or ')' is missing at the end");
  EXPECT_EQ(error_of("'a"), "1: this quote is not closed");
  EXPECT_EQ(error_of("a + ''"), "5: a name is missing between the quotes");
  EXPECT_EQ(error_of("1.2.3"), "1: '1.2.3' is not a number");
  EXPECT_EQ(error_of("1e999"), "1: '1e999' is not a number");
  EXPECT_THAT(error_of("a b"), HasSubstr("3: an operator is expected here, not 'b'"));
  EXPECT_THAT(error_of("a)"), HasSubstr("2: an operator is expected here, not ')'"));
  EXPECT_THAT(error_of("cs:u / a"),
              HasSubstr("3: an operator is expected here, not ':'; a name that contains"));
  EXPECT_THAT(error_of("a * \xc2\xb5"), HasSubstr("not '\xc2\xb5'"));
  EXPECT_THAT(error_of(std::string_view("a\0", 2)), HasSubstr("2: an operator is expected here"));
}

TEST(Formula, IsBounded) {
  const auto deep = [](std::size_t n) { return std::string(n, '(') + "a" + std::string(n, ')'); };
  EXPECT_EQ(error_of(deep(max_formula_depth - 1)), "");
  EXPECT_THAT(error_of(deep(max_formula_depth)), HasSubstr("more than 50 levels deep"));
  EXPECT_THAT(error_of(std::string(max_formula_depth, '-') + "a"),
              HasSubstr("more than 50 levels deep"));
  EXPECT_EQ(error_of(std::string(max_formula - 1, ' ') + "a"), "");
  EXPECT_THAT(error_of(std::string(max_formula, ' ') + "a"),
              HasSubstr("the formula has 1001 bytes"));
}

TEST(Formula, IsScaledWithTheLeastCoverageOfItsParts) {
  const Reading reading = result_of("a * half - rare");
  EXPECT_EQ(reading.status, Status::scaled);
  EXPECT_EQ(reading.coverage, 0.25);
  EXPECT_EQ(reading.value, Number(52.5));
  EXPECT_EQ(counters::comparable(reading), std::nullopt);
  EXPECT_EQ(result_of("half / a").coverage, 0.5);
}

TEST(Formula, WhatCannotBeComputedIsAbsentWithTheReason) {
  const auto reason = [](std::string_view text) {
    const Reading reading = result_of(text);
    EXPECT_EQ(reading.status, Status::absent) << text;
    return reading.reason;
  };
  EXPECT_EQ(reason("a / gone"), "gone is absent: there is no PMU");
  EXPECT_EQ(reason("a / (b - 4)"), "a divisor is 0");
  EXPECT_EQ(reason("0 / 0"), "a divisor is 0");
  EXPECT_EQ(reason("1e308 * 10"), "the result is not a finite number");
  EXPECT_EQ(reason("1 / (1e300 * 1e300)"), "the result is not a finite number");
  EXPECT_EQ(reason("a + other"), "other does not exist");
}

TEST(Formula, TheResponseOfADerivedMeasureHasItsParts) {
  Plan plan;
  plan.derived = {{.name = "ipc", .formula = "instructions / cycles"}};
  EXPECT_THAT(parts_of(plan, "ipc"), ElementsAre("instructions", "cycles"));
  EXPECT_THAT(parts_of(plan, "wall"), ElementsAre("wall"));
}

TEST(ParseNumber, TakesDecimalNumbersAndNothingElse) {
  EXPECT_EQ(parse_number("-9223372036854775808"), Number(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(parse_number("9223372036854775808"), Number(0x1p63));
  EXPECT_EQ(parse_number("+1.5E+2"), Number(150.0));
  EXPECT_EQ(parse_number("-.5"), Number(-0.5));
  EXPECT_EQ(parse_number("7."), Number(7.0));
  for (const char* wrong :
       {"",    "+",    "-",   ".",    "+-1", "--1",   "1,5",   "1 ",    " 1",    "0x10",
        "inf", "-inf", "nan", "-nan", "1e",  "1e999", "1_000", "1.2.3", "12abc", "e5"})
    EXPECT_EQ(parse_number(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace stab::plan
