// SPDX-License-Identifier: MIT
#include "plan/measures/google_benchmark.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace stab::plan {
namespace {

using counters::Samples;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t plenty = counters::most_sample_bytes;

OutputMeasure of(std::string field) {
  return {.name = "time", .google_benchmark = std::move(field)};
}
std::vector<Samples> samples_of(const std::string& field, std::string_view text) {
  const auto found = google_benchmarks(of(field), text, plenty);
  EXPECT_TRUE(found) << found.error();
  return found.value_or(GoogleBenchmarks()).samples;
}
std::string error_of(std::string_view text, const std::string& field = "real_time",
                     std::size_t room = plenty) {
  const auto found = google_benchmarks(of(field), text, room);
  return found ? "" : found.error();
}

// As version 1.7.1 prints it, of two repetitions.
constexpr std::string_view printed = R"({
  "context": {
    "date": "2026-11-23T04:00:00+00:00", "host_name": "lab", "num_cpus": 2, "name": "context",
    "caches": [{"type": "Data", "level": 1, "size": 32768}], "load_avg": [0.5, 1, 2]
  },
  "benchmarks": [
    {
      "name": "BM_insert/8", "family_index": 0, "per_family_instance_index": 1, "run_name": "BM_insert/8",
      "run_type": "iteration", "repetitions": 2, "repetition_index": 0, "threads": 1,
      "iterations": 1000, "real_time": 1.25e+01, "cpu_time": 1.2e+01, "time_unit": "us",
      "items_per_second": 8.0e+07
    },
    {
      "name": "BM_insert/8", "family_index": 0, "per_family_instance_index": 1,
      "run_name": "BM_insert/8", "run_type": "iteration", "repetition_index": 1, "iterations": 1000, "real_time": 13, "cpu_time": 11,
      "time_unit": "us", "items_per_second": 9.0e+07
    },
    {
      "name": "BM_insert/8_mean", "run_name": "BM_insert/8", "run_type": "aggregate",
      "aggregate_name": "mean", "real_time": 999, "cpu_time": 999, "time_unit": "us"
    },
    {
      "name": "BM_erase", "run_name": "BM_erase", "run_type": "iteration",
      "error_occurred": true, "error_message": "no keys\n", "iterations": 0,
      "real_time": 0, "cpu_time": 0, "time_unit": "ns"
    },
    {"name": "BM_find", "real_time": 2, "cpu_time": 1.5, "time_unit": "ns"}
  ]
})";

TEST(GoogleBenchmark, SaysWhatIsLeftOutAndWhereItRan) {
  const auto found = google_benchmarks(of("items_per_second"), printed, plenty);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->host, "lab");
  EXPECT_EQ(found->aggregates, 1U);
  EXPECT_EQ(found->lacking, 1U);
}

TEST(GoogleBenchmark, EachBenchmarkHasItsRepetitionsInNanoseconds) {
  EXPECT_EQ(
      samples_of("real_time", printed),
      (std::vector<Samples>{
          {.measure = "time", .subject = "BM_insert/8", .unit = "ns", .values = {12500, 13000}},
          {.measure = "time", .subject = "BM_erase", .unit = "ns", .reason = "no keys "},
          {.measure = "time", .subject = "BM_find", .unit = "ns", .values = {2}}}));
  EXPECT_EQ(samples_of("cpu_time", printed).front().values, (std::vector<double>{12000, 11000}));
}

// A list of benchmarks with a time each.
std::string list_of(const std::vector<std::string>& records) {
  std::string text;
  for (const std::string& each : records)
    text += (text.empty() ? "{" : ",{") + each + R"(, "real_time": 1})";
  return R"({"benchmarks": [)" + text + "]}";
}

TEST(GoogleBenchmark, NamesThatDifferAtTheirEndOrInWhatIsNotShownAreDifferentBenchmarks) {
  const std::string common(300, 'T');
  const auto found = samples_of(
      "real_time", list_of({R"("name": ")" + common + R"(/8")", R"("name": ")" + common + R"(/64")",
                            R"("name": "a\u0001b")", R"("name": "a b")"}));
  ASSERT_EQ(found.size(), 4U);
  std::set<std::string> names;
  for (const Samples& each : found) {
    EXPECT_EQ(each.values.size(), 1U);
    EXPECT_LE(each.subject.size(), 200U);
    EXPECT_THAT(each.subject, Not(HasSubstr("\x01")));
    names.insert(each.subject);
  }
  EXPECT_EQ(names.size(), 4U);
  EXPECT_TRUE(names.contains("a b"));
}

TEST(GoogleBenchmark, TwoOfOneNameAreTwo) {
  const auto found =
      samples_of("real_time",
                 list_of({R"("name": "b/1", "family_index": 0, "per_family_instance_index": 0)",
                          R"("name": "b/1", "family_index": 0, "per_family_instance_index": 1)",
                          R"("name": "b/1", "family_index": 0, "per_family_instance_index": 0)"}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].subject, "b/1");
  EXPECT_EQ(found[0].values.size(), 2U);
  EXPECT_EQ(found[1].subject, "b/1#2");
}

TEST(GoogleBenchmark, NumbersThatAreNoneDoNotCount) {
  const std::string text =
      R"({"benchmarks": [{"name": "a NaN \" -NaN", "real_time": 2, "x": NaN, "y": -Infinity}]})";
  ASSERT_EQ(samples_of("real_time", text).size(), 1U);
  EXPECT_EQ(samples_of("real_time", text)[0].subject, "a NaN \" -NaN");
  EXPECT_THAT(error_of(text, "x"), HasSubstr("no benchmark has a value named 'x'"));
}

TEST(GoogleBenchmark, CountersAreThereOfBenchmarksThatHaveThem) {
  const auto found = samples_of("items_per_second", printed);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].values, (std::vector<double>{8e7, 9e7}));
  EXPECT_EQ(found[0].unit, "");
  EXPECT_EQ(found[1].subject, "BM_erase");
  EXPECT_EQ(error_of(printed, "bytes_per_second"),
            "");  // of the one that failed it is not known whether it has them
  EXPECT_EQ(error_of(R"({"benchmarks": [{"name": "a", "real_time": 1}]})", "items"),
            "no benchmark has a value named 'items'");
}

TEST(GoogleBenchmark, AnErrorInOneRepetitionIsOneOfTheBenchmark) {
  for (const char* text :
       {R"({"benchmarks": [{"name": "a", "real_time": 1}, {"name": "a", "error_occurred": true,
            "error_message": "oh"}, {"name": "a", "real_time": 2}]})",
        R"({"benchmarks": [{"name": "a", "skipped": true, "skip_message": "oh"},
            {"name": "a", "real_time": 2}]})"}) {
    const auto found = samples_of("real_time", text);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].reason, "oh");
    EXPECT_TRUE(found[0].values.empty());
  }
  EXPECT_EQ(samples_of("real_time", R"({"benchmarks": [{"name": "a", "error_occurred": true}]})")
                .front()
                .reason,
            "the benchmark did not run to its end");
}

TEST(GoogleBenchmark, WhatIsNoneOfItsTextsSaysWhatToDo) {
  EXPECT_EQ(error_of("BM_a 12 ns"),
            "invalid JSON at byte 1: give the program --benchmark_format=json");
  EXPECT_THAT(error_of(""), HasSubstr("give the program --benchmark_format=json"));
  EXPECT_EQ(error_of("{}"),
            "no list of benchmarks was found: give the program --benchmark_format=json");
  EXPECT_THAT(error_of(R"({"a": {"benchmarks": [{"name": "a", "real_time": 1}]}})"),
              HasSubstr("no list of benchmarks was found"));
  EXPECT_EQ(error_of(R"({"benchmarks": []})"), "the list contains no benchmark that ran");
  EXPECT_EQ(
      error_of(R"({"benchmarks": [{"name": "a_mean", "run_type": "aggregate", "real_time": 1}]})"),
      "the list contains only aggregates: run the program without "
      "--benchmark_report_aggregates_only");
  EXPECT_EQ(error_of(R"({"benchmarks": [{"real_time": 1}]})"), "a benchmark has no name");
  EXPECT_EQ(error_of(R"({"benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]})"),
            "its time_unit 'h' is unknown");
  EXPECT_EQ(
      error_of(
          R"({"benchmarks": [{"name": "a", "real_time": 1}, {"name": "a", "real_time": -1}]})"),
      "the real_time of a is below 0, which is impossible for a time");
  EXPECT_EQ(error_of(R"({"benchmarks": [{"name": "a", "real_time": 1e308, "time_unit": "s"}]})"),
            "the values are too large");
}

TEST(GoogleBenchmark, OnlyFieldsOfTheBenchmarkItselfCount) {
  const auto found = samples_of("real_time", R"({"real_time": 7, "benchmarks": [3, [{"name": "x"}],
      {"name": "a", "inner": {"real_time": 9, "name": "b"}, "real_time": 1, "more": [{}]}],
      "others": [{"name": "c", "real_time": 1}]})");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, "a");
  EXPECT_EQ(found[0].values, std::vector<double>{1});
}

TEST(GoogleBenchmark, MoreThanThereIsRoomForIsNotKept) {
  std::string text = R"({"benchmarks": [)";
  for (int i = 0; i < 100; ++i)
    text += fmt::format(R"({}{{"name": "a", "real_time": 1}})", i == 0 ? "" : ",");
  text += "]}";
  EXPECT_EQ(samples_of("real_time", text).front().values.size(), 100U);
  EXPECT_EQ(error_of(text, "real_time", 2000),
            "the samples of this trial need more than 256 KiB, the most that stabd stores");
  const std::size_t needed = counters::bytes_of(samples_of("real_time", text).front());
  EXPECT_EQ(error_of(text, "real_time", needed), "");
  EXPECT_NE(error_of(text, "real_time", needed - 1), "");
}

}  // namespace
}  // namespace stab::plan
