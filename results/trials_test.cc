// SPDX-License-Identifier: MIT
#include "results/trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stab::results {
namespace {

using counters::Number;
using ::testing::ElementsAre;

stats::Dataset dataset_of(const std::vector<std::optional<Number>>& values) {
  stats::Dataset data;
  Response response(data);
  for (const auto& value : values) response.append(value);
  return data;
}

TEST(Response, IntegersKeepAllTheirDigits) {
  const std::int64_t first = (std::int64_t{1} << 62) + 1;
  const auto data = dataset_of({Number(first), std::nullopt, Number(first + 1), Number(first - 3)});
  EXPECT_EQ(data.centre, 0x1p62);
  EXPECT_EQ(data.response[0], 0);
  EXPECT_TRUE(std::isnan(data.response[1]));
  EXPECT_EQ(data.response[2], 1);
  EXPECT_EQ(data.response[3], -3);
}

TEST(Response, RealNumbersStayAsTheyAre) {
  const auto data = dataset_of({Number(0.1), Number(1e-300), Number(1e300)});
  EXPECT_EQ(data.centre, 0);
  EXPECT_THAT(data.response, ElementsAre(0.1, 1e-300, 1e300));
}

TEST(Response, ARealNumberAmongIntegersIsAddedAsItIs) {
  const auto data = dataset_of({Number(1000), Number(1001), std::nullopt, Number(0.25), Number(9)});
  EXPECT_EQ(data.centre, 0);
  EXPECT_EQ(data.response[0], 1000);
  EXPECT_EQ(data.response[1], 1001);
  EXPECT_TRUE(std::isnan(data.response[2]));
  EXPECT_EQ(data.response[3], 0.25);
  EXPECT_EQ(data.response[4], 9);
}

TEST(Response, AnIntegerFarFromTheFirstOneIsNotLostInIt) {
  const std::int64_t large = 1'000'000'000'000'000'003;
  const auto data = dataset_of({Number(large), Number(3)});
  EXPECT_EQ(data.response[1] + data.centre, 3);
  const auto apart = dataset_of({Number(std::numeric_limits<std::int64_t>::max()),
                                 Number(std::numeric_limits<std::int64_t>::min())});
  EXPECT_EQ(apart.response[1] + apart.centre, -0x1p63);
}

TEST(Response, AReadingIsOneAsItIsAndWhatIsAbsentOrNoNumberIsNone) {
  store::Trial trial;
  trial.readings = {counters::counted("ops", "1/s", 2.5),
                    counters::counted("nan", "", std::nan("")),
                    counters::absent("gone", "", "nothing was printed")};
  EXPECT_EQ(response_of(trial, "ops"), Number(2.5));
  EXPECT_EQ(response_of(trial, "nan"), std::nullopt);
  EXPECT_EQ(response_of(trial, "gone"), std::nullopt);
  EXPECT_EQ(response_of(trial, "other"), std::nullopt);
  EXPECT_EQ(unit_of(trial, "ops"), stats::Unit::number);
}

TEST(Response, ManySamplesAreOneNumberOfTheirTrial) {
  plan::Plan plan;
  plan.outputs = {{.name = "time", .google_benchmark = "real_time"}, {.name = "lap"}};
  store::Trial trial;
  trial.benchmark = "sort";
  trial.samples = {{.measure = "time", .subject = "BM_a/8", .unit = "ns", .values = {1, 2, 4}},
                   {.measure = "lap", .unit = "bytes", .values = {3, 5}},
                   {.measure = "time", .subject = "BM_b", .unit = "ns", .reason = "no keys"},
                   {.measure = "time", .subject = "BM_c", .unit = "ns", .values = {-1, 4}}};
  plan.analysis.log_scale = false;
  auto numbers = numbers_of(trial, plan, "time");
  ASSERT_EQ(numbers.size(), 3U);
  EXPECT_EQ(numbers[0].subject, "sort/BM_a/8");
  EXPECT_EQ(numbers[0].value, Number(7.0 / 3));
  EXPECT_EQ(numbers[1].subject, "sort/BM_b");
  EXPECT_EQ(numbers[1].value, std::nullopt);
  EXPECT_EQ(numbers[2].value, Number(1.5));
  EXPECT_EQ(unit_of(trial, "time"), stats::Unit::nanoseconds);
  EXPECT_EQ(unit_of(trial, "lap"), stats::Unit::bytes);

  plan.analysis.log_scale = true;
  numbers = numbers_of(trial, plan, "time");
  EXPECT_DOUBLE_EQ(std::get<double>(*numbers[0].value), 2);
  EXPECT_EQ(numbers[2].value, std::nullopt);  // it has no logarithm
  numbers = numbers_of(trial, plan, "lap");
  ASSERT_EQ(numbers.size(), 1U);
  EXPECT_EQ(numbers[0].subject, "sort");
  EXPECT_DOUBLE_EQ(std::get<double>(*numbers[0].value), std::sqrt(15.0));

  // One number stays as it is; without samples the benchmarks are not known.
  trial.samples = {{.measure = "lap", .values = {0.1}}};
  EXPECT_EQ(numbers_of(trial, plan, "lap")[0].value, Number(0.1));
  EXPECT_TRUE(numbers_of(trial, plan, "time").empty());
  EXPECT_EQ(numbers_of(trial, plan, "wall").size(), 1U);
}

}  // namespace
}  // namespace stab::results
