// SPDX-License-Identifier: MIT
// Text, page and JSON of a causal profile come from the same rows.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/json.h"
#include "report/sections/sections.h"

namespace stab::report {
namespace {

using nlohmann::ordered_json;
using stats::causal::AtLoad;
using stats::causal::Finding;
using stats::causal::Line;
using stats::causal::Measured;
using stats::causal::PointAtLoad;
using stats::causal::PointKind;
using stats::causal::Profile;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> keys_of(const Row& row) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : row_json(row).items()) keys.push_back(key);
  return keys;
}

std::vector<std::string> columns_of(const Row& row) {
  std::vector<std::string> columns;
  for (const Field& each : row)
    if (each.heading) columns.push_back(*each.heading + ": " + each.text);
  return columns;
}

Line known_line() {
  Line line{.samples = 70, .finding = Finding::helps};
  line.at_quarter = {.value = 0.061, .interval = {.low = 0.05, .high = 0.072}};
  line.half_after_hour = 0.004;
  line.steps = {{.speedup = 0.25, .gain = line.at_quarter}};
  return line;
}

TEST(CausalRows, ALineHasItsNumbersForPeopleAndForPrograms) {
  const Profile profile{.lines = {"a.cc:1"}};
  const Row row = line_row(profile, known_line());
  EXPECT_THAT(columns_of(row),
              ElementsAre("line: a.cc:1", "samples: 70", "if it took 25 % less: 6.1 % [5.0, 7.2]",
                          "finding: helps", "p: 1.00", "+1 hour: +-0.4"));
  EXPECT_THAT(keys_of(row),
              ElementsAre("line", "finding", "samples", "baselines", "sped_up", "dropped", "runs",
                          "visits", "phase", "at_quarter", "is_quarter_of_slope", "half_after_hour",
                          "slope", "p", "adjusted_p", "steps"));
  EXPECT_EQ(row_json(row)["at_quarter"],
            ordered_json({{"value", 0.061}, {"low", 0.05}, {"high", 0.072}}));
}

TEST(CausalRows, ALineWithTooFewExperimentsHasTheSameColumnsButNoNumbers) {
  const Profile profile{.lines = {"a.cc:1"}};
  const Row known = line_row(profile, known_line());
  const Row row = line_row(profile, {.samples = 7, .too_few = "2 experiments"});
  ASSERT_EQ(row.size(), known.size());
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i].heading, known[i].heading) << i;
  EXPECT_THAT(columns_of(row),
              ElementsAre("line: a.cc:1", "samples: 7", "if it took 25 % less: -",
                          "finding: too few to say: 2 experiments", "p: -", "+1 hour: -"));
  EXPECT_THAT(keys_of(row), ElementsAre("line", "finding", "samples", "baselines", "sped_up",
                                        "dropped", "runs", "visits", "phase", "too_few"));
}

TEST(CausalRows, ALoadAndItsPointsLackWhatIsNotKnown) {
  const Profile profile{.points = {{.name = "done"}, {.name = "wait", .kind = PointKind::latency}},
                        .loads = {{.asked = 1.25, .speedup_ns = 250'000}}};
  const Measured measured{.value = 2000, .interval = stats::Interval{.low = 1000, .high = 3000}};
  AtLoad at{.had = measured,
            .points = {{.point = 0, .measured = measured},
                       {.point = 1, .measured = {.value = 5000}, .is_steady = false}}};
  EXPECT_THAT(columns_of(load_row(profile, at)),
              ElementsAre("load: 1.25x", "had: 2000 [1000, 3000]", "a visit: 250 us", "runs: 0",
                          "arrivals per second: unknown"));
  EXPECT_THAT(keys_of(load_row(profile, at)),
              ElementsAre("asked", "speedup_ns", "runs", "had", "points"));
  EXPECT_THAT(columns_of(point_row(profile, at, at.points[0])),
              ElementsAre("load: 1.25x", "had: 2000 [1000, 3000]",
                          "visits per second: 2000 [1000, 3000]", "remark: "));
  EXPECT_THAT(columns_of(point_row(profile, at, at.points[1])),
              ElementsAre("load: 1.25x", "had: 2000 [1000, 3000]", "latency, us: 5",
                          HasSubstr("remark: arrivals and departures differ too much")));
  EXPECT_THAT(keys_of(point_row(profile, at, at.points[0])),
              ElementsAre("name", "kind", "value", "low", "high", "per_arrival", "saturated"));
  EXPECT_THAT(keys_of(point_row(profile, at, at.points[1])),
              ElementsAre("name", "kind", "value", "steady"));
}

}  // namespace
}  // namespace stab::report
