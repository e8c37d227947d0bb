// SPDX-License-Identifier: MIT
#include "plan/measures/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stab::plan {
namespace {

using counters::Number;
using counters::Reading;
using counters::Status;
using ::testing::HasSubstr;

OutputMeasure by(std::string regex, Pick pick = Pick::only) {
  return {.name = "m", .unit = "1/s", .regex = std::move(regex), .pick = pick};
}
Number value_of(const OutputMeasure& measure, std::string_view text) {
  const Measured measured = read_output(measure, text);
  const Reading reading = measured.reading.value();
  EXPECT_EQ(measured.samples.empty(), measure.pick != Pick::samples);
  EXPECT_EQ(reading.status, Status::counted) << reading.reason;
  EXPECT_EQ(reading.name, "m");
  EXPECT_EQ(reading.unit, "1/s");
  return reading.value;
}
std::string reason_of(const OutputMeasure& measure, std::string_view text) {
  const Measured measured = read_output(measure, text);
  const Reading reading = measured.reading.value();
  EXPECT_TRUE(measured.samples.empty());
  EXPECT_EQ(reading.status, Status::absent);
  EXPECT_EQ(reading.unit, "1/s");
  return reading.reason;
}

TEST(Output, TheFirstGroupIsTheNumber) {
  EXPECT_EQ(value_of(by("ops: (\\S+) (\\S+)"), "n 1\nops: 25 7\n"), Number(25));
  EXPECT_EQ(value_of(by("([0-9.e+-]+) ops"), "1.5e3 ops"), Number(1500.0));
  EXPECT_EQ(value_of(by("(-?\\d+)"), "x-9223372036854775808"),
            Number(std::int64_t{-9223372036854775807} - 1));
}

TEST(Output, LinesHaveBeginningsAndEnds) {
  EXPECT_EQ(value_of(by("^ops (\\d+)$"), "xops 1\nops 2\nops 3 x\n"), Number(2));
  EXPECT_EQ(value_of(by("^(\\d+)$", Pick::sum), "1\n2\n3"), Number(6));
}

TEST(Output, TheOneThatCountsIsTheOnlyOneUnlessThePlanSaysOtherwise) {
  const std::string text = "t=4 t=1 t=2.5 ";
  EXPECT_EQ(reason_of(by("t=(\\S+)"), text),
            "stdout: the pattern matches '4' and '1': set 'take' to choose which match counts");
  EXPECT_EQ(value_of(by("t=(\\S+)", Pick::first), text), Number(4));
  EXPECT_EQ(value_of(by("t=(\\S+)", Pick::last), text), Number(2.5));
  EXPECT_EQ(value_of(by("t=(\\S+)", Pick::sum), text), Number(7.5));
  EXPECT_EQ(value_of(by("t=(\\S+)", Pick::mean), text), Number(2.5));
  EXPECT_EQ(value_of(by("t=(\\d)", Pick::sum), text), Number(7));
  for (const Pick pick : {Pick::only, Pick::first, Pick::last, Pick::mean, Pick::sum})
    EXPECT_EQ(value_of(by("t=(\\S+)", pick), "t=3"), pick == Pick::mean ? Number(3.0) : Number(3));
}

TEST(Output, EachMatchIsASampleAndTheReadingIsTheirMean) {
  const OutputMeasure measure = by("t=(\\S+)", Pick::samples);
  const Measured measured = read_output(measure, "t=1 t=2.5 x t=4 t=-1");
  EXPECT_EQ(measured.reading, counters::counted("m", "1/s", 6.5 / 4));
  EXPECT_EQ(
      measured.samples,
      (std::vector<counters::Samples>{{.measure = "m", .unit = "1/s", .values = {1, 2.5, 4, -1}}}));
  EXPECT_EQ(value_of(measure, "t=3"), Number(3.0));
  EXPECT_EQ(reason_of(measure, "u"), "stdout: nothing matches");
  EXPECT_EQ(reason_of(measure, "t=1 t=x"), "stdout: 'x' is not a usable number");
  EXPECT_EQ(reason_of(measure, "t=1e308 t=1e308"), "stdout: the values are too large");
  const std::string many = "t=" + std::string(20'000, '1');
  EXPECT_EQ(reason_of(by("(1)", Pick::samples), many),
            "stdout: the samples of this trial need more than 256 KiB, the most that stabd stores");
  EXPECT_EQ(read_output(measure, "t=1 t=2", 108).reading->status, Status::counted);
  EXPECT_EQ(read_output(measure, "t=1 t=2", 107).reading->status, Status::absent);
}

TEST(Output, WhatIsNoNumberIsAbsentAndSaysWhatWasFound) {
  EXPECT_EQ(reason_of(by("t=(\\S+)"), "u=4"), "stdout: nothing matches");
  EXPECT_EQ(reason_of(by("t=(\\S+)"), ""), "stdout: nothing matches");
  EXPECT_EQ(reason_of(by("t=(\\S*)"), "t="), "stdout: '' is not a usable number");
  for (const std::string wrong : {"4s", "inf", "nan", "1,5", "0x1", "1e999"})
    EXPECT_EQ(reason_of(by("t=(\\S+)"), "t=" + wrong),
              "stdout: '" + wrong + "' is not a usable number");
  EXPECT_EQ(reason_of(by("t=(\\S+)", Pick::mean), "t=1 t=x"), "stdout: 'x' is not a usable number");
  EXPECT_EQ(reason_of(by("t=(\\S+)", Pick::last), "t=1 t=x"), "stdout: 'x' is not a usable number");
  EXPECT_EQ(value_of(by("t=(\\S+)", Pick::first), "t=1 t=x"), Number(1));
  EXPECT_EQ(reason_of(by("t=(\\S+)", Pick::sum), "t=1e308 t=1e308"),
            "stdout: the values are too large");
  OutputMeasure other = by("t=(\\S+)");
  other.from_stderr = true;
  EXPECT_EQ(reason_of(other, "u"), "stderr: nothing matches");
}

TEST(Output, BytesOfAllKindsAreText) {
  EXPECT_EQ(value_of(by("t=(\\d+)"), std::string_view("\xff\0\xfe t=5 \xc3", 11)), Number(5));
  EXPECT_THAT(reason_of(by("t=([^ ]+)"), "t=\x1b[31m"), HasSubstr("is not a usable number"));
  EXPECT_THAT(reason_of(by("t=([^ ]+)"), "t=\x1b[31m"), testing::Not(HasSubstr("\x1b")));
}

TEST(Output, JsonHasItsNumberWhereThePointerSays) {
  OutputMeasure measure = by("");
  measure.json = "/benchmarks/0/real_time";
  EXPECT_EQ(
      value_of(measure, R"({"context": {}, "benchmarks": [{"name": "a", "real_time": 12.5}]})"),
      Number(12.5));
  EXPECT_EQ(reason_of(measure, R"({"benchmarks": []})"), "stdout: nothing is there");
  EXPECT_EQ(reason_of(measure, "time: 5"), "stdout: invalid JSON at byte 2");
}

// With an engine that goes back these would not end.
TEST(Output, PatternsTakeTimeInProportionToTheText) {
  const std::string text(1 << 20, 'x');
  EXPECT_EQ(reason_of(by("(?:x+x+)+y(\\d)"), text), "stdout: nothing matches");
  EXPECT_EQ(reason_of(by("(?:x*)*(?:x*)*(?:x*)*(\\d)z"), text), "stdout: nothing matches");
}

TEST(Output, WhatIsTooMuchIsAbsent) {
  EXPECT_EQ(reason_of(by("(1)", Pick::last), std::string(max_read + 1, '1')),
            "stdout: the output is 16777217 bytes long, but stabd reads at most 16 MiB");
  EXPECT_THAT(reason_of(by("([ab]*a[ab]{900})c", Pick::first), std::string(max_read / 2, 'a')),
              HasSubstr("with such a large pattern"));
  EXPECT_THAT(read_output(by("(1)", Pick::first), "1", 100, {}).reading->reason,
              HasSubstr("the earlier measures took too long to read"));
  EXPECT_THAT(reason_of(by("(1)", Pick::last), std::string(max_matches + 1, '1')),
              HasSubstr("stdout: the pattern matches too often"));
}

TEST(Output, APatternNeedsAGroupAndHasABound) {
  EXPECT_EQ(pattern_fault("t=(\\d+)"), "");
  EXPECT_EQ(pattern_fault("t=\\d+"), "the pattern has no group: put the number between ( and )");
  EXPECT_EQ(pattern_fault("t=(?:\\d+)"),
            "the pattern has no group: put the number between ( and )");
  EXPECT_THAT(pattern_fault("t=(\\d+"), HasSubstr("missing )"));
  EXPECT_THAT(pattern_fault("(a)\\1"), HasSubstr("invalid escape sequence"));
  EXPECT_NE(pattern_fault("((a{900}){900})"), "");
  EXPECT_EQ(pattern_fault("(a{900}b{900}c{900}d{900}e{900}f{900})"),
            "the pattern is too large: use fewer or smaller repetitions");
}

TEST(Output, APointerIsCheckedToo) {
  EXPECT_EQ(pointer_fault("/a/0"), "");
  EXPECT_EQ(pointer_fault(""), "");
  EXPECT_NE(pointer_fault("a"), "");
}

}  // namespace
}  // namespace stab::plan
