// SPDX-License-Identifier: MIT
#include "store/rows/reading_list.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "store/exceptions.h"
#include "store/rows/changed_bytes_testing.h"

namespace stab::store {
namespace {

using counters::Reading;
using counters::Status;
using Readings = std::vector<Reading>;

Readings read(std::string_view text) {
  // Of another trial, as a loop over many has it.
  Readings readings{{.name = "old", .unit = "old", .value = 7, .coverage = 0.1, .reason = "old"},
                    {.name = "older"}};
  read_reading_list(text, readings);
  return readings;
}

TEST(ReadingList, IsAsTheDocumentSays) {
  EXPECT_EQ(reading_list({counters::counted("page-faults", "", 12),
                          counters::counted("ratio", "", 0.5),
                          {.name = "cycles", .status = Status::scaled, .value = 9, .coverage = .25},
                          counters::absent("steal", "ns", "no /proc")}),
            R"([["page-faults","",12],["ratio","",0.5],["cycles","",9,0.25],)"
            R"(["steal","ns",null,"no /proc"]])");
  EXPECT_EQ(reading_list({}), "");
  EXPECT_EQ(read(""), Readings());
}

TEST(ReadingList, WhatIsWrittenIsReadBackEqual) {
  using Limits = std::numeric_limits<double>;
  Readings readings{
      counters::counted("most", "ns", std::numeric_limits<std::int64_t>::max()),
      counters::counted("least", "ns", std::numeric_limits<std::int64_t>::min()),
      counters::counted("whole real", "", 1.0),
      counters::counted("third", "", 1.0 / 3),
      counters::counted("tiny", "", Limits::denorm_min()),
      counters::counted("huge", "", Limits::max()),
      counters::counted("quoted \"name\" \\ \n \x01 ä ]", "µs,", 0),
      {.name = "late", .status = Status::absent, .coverage = 0, .reason = "too \"late\"]"},
      {.name = "whole", .status = Status::scaled, .value = 1.5, .coverage = 1}};
  EXPECT_EQ(read(reading_list(readings)), readings);
  EXPECT_TRUE(nlohmann::json::accept(reading_list(readings)));
  Random random(3);
  for (int i = 0; i < 10'000; ++i) {
    const auto bits = random.below(std::numeric_limits<std::uint64_t>::max());
    const auto real = std::bit_cast<double>(bits);
    if (!std::isfinite(real)) continue;
    readings = {counters::counted("r", "", real),
                counters::counted("i", "", std::bit_cast<std::int64_t>(bits))};
    ASSERT_EQ(read(reading_list(readings)), readings) << reading_list(readings);
  }
}

TEST(ReadingList, ARealStaysARealAndZeroKeepsItsSign) {
  const Readings found = read(reading_list({counters::counted("x", "", -0.0)}));
  ASSERT_TRUE(std::holds_alternative<double>(found[0].value));
  EXPECT_TRUE(std::signbit(std::get<double>(found[0].value)));
}

TEST(ReadingList, WhatIsNotFiniteIsAbsentAndNoNumber) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(read(reading_list({counters::counted("x", "", value)})),
              Readings{counters::absent("x", "", "its value is not finite")});
}

TEST(ReadingList, WhatIsNoListIsRefused) {
  const std::string whole = reading_list({counters::counted("a\n", "ns", 12),
                                          counters::counted("b", "", 1.5e-7),
                                          counters::absent("c", "", "why"),
                                          {.name = "d", .status = Status::scaled, .coverage = .5}});
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_THROW(read(whole.substr(0, size)), Failure) << size;
  for (const char* text :
       {"[]", "{}", "null", "[1]", "[[]]", R"([["a","",]])", R"([["a","",null]])",
        R"([["a","",9223372036854775808]])", R"([["a","",1e999]])", R"([["a","",nan.0]])",
        R"([["a","",0x1]])", R"([["a","",1]] )", R"([["a",1,1]])", R"([["\u12","",1]])", R"([["\)",
        R"([["a","",1,"x"]])", R"([["a","",null,"x","y"]])", R"([["a","",true]])"})
    EXPECT_THROW(read(text), Failure) << text;
}

TEST(ReadingList, AnyChangedByteIsReadOrRefused) {
  read_with_changed_bytes(
      reading_list({counters::counted("a\"", "ns", 12), counters::counted("b", "", 1.5e-7),
                    counters::absent("c", "", "why")}),
      read);
}

}  // namespace
}  // namespace stab::store
