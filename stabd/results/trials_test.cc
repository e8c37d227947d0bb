// SPDX-License-Identifier: MIT
#include "stabd/results/trials.h"

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

}  // namespace
}  // namespace stab::results
