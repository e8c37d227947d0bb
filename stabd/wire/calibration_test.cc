// SPDX-License-Identifier: MIT
#include "stabd/wire/calibration.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stab::wire {
namespace {

using nlohmann::json;

KnownMachine example() {
  return {.machine = {.key = "cafe", .host = "lab", .facts = "{\"cpu\":\"x\"}"},
          .calibrations = {{.name = "calibration",
                            .at_ns = 1'700'000'000'000'000'004,
                            .scope = store::CalibrationScope::benchmark,
                            .benchmark = "sort",
                            .response = "user",
                            .alpha = 0.01,
                            .blocks = 10,
                            .benchmarks = 5,
                            .comparisons = 100,
                            .significant = 6,
                            .margin = 0.1 + 0.2,
                            .margin_low = 0.006,
                            .margin_high = 0.012},
                           {.name = "short", .response = "wall"}}};
}

TEST(WireCalibration, ReadsBackAsItWasWritten) {
  const auto read = read_machines(json::parse(to_json(std::vector{example()}).dump()));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().machine, example().machine);
  EXPECT_EQ(read->front().calibrations, example().calibrations);
}

TEST(WireCalibration, OfNoMachineIsEmpty) {
  EXPECT_EQ(to_json(std::vector<KnownMachine>{}).dump(), "[]");
  EXPECT_TRUE(read_machines(json::array())->empty());
}

TEST(WireCalibration, NonsenseIsAnError) {
  for (const char* text :
       {"[1]", "[{}]", R"([{"key":"k","host":"h","facts":"f","calibrations":[{}]}])",
        R"([{"key":7,"host":"h","facts":"f","calibrations":[]}])", "7"})
    EXPECT_FALSE(read_machines(json::parse(text))) << text;
  json wrong = json::parse(to_json(std::vector{example()}).dump());
  wrong[0]["calibrations"][0]["scope"] = "galaxy";
  EXPECT_FALSE(read_machines(wrong));
}

}  // namespace
}  // namespace stab::wire
