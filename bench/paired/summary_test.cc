// SPDX-License-Identifier: MIT
#include "bench/paired/summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace stab::bench {
namespace {

using testing::HasSubstr;

// Two programs with arms "on" and "off"; the machine gets slower from round to round.
class PairedSummary : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"first", "second"})
      programs_.push_back({name, "", "", {{"on", {{}}}, {"off", {{}}}}, {{0, 1}}});
    for (std::size_t program = 0; program < 2; ++program)
      for (std::size_t round = 0; round < 7; ++round) {
        const double base = 1 + 0.5 * static_cast<double>(round);
        const double ratio = program == 0 ? 1.1 : 1.3;
        runs_.push_back({program, round, 0, 0, 0, {base * ratio, base, base}, ""});
        runs_.push_back({program, round, 1, 0, 0, {base, base, base}, ""});
      }
  }

  std::vector<Program> programs_{};
  std::vector<Execution> runs_{};
};

TEST_F(PairedSummary, RatiosAreTakenWithinRoundsSoDriftDoesNotMatter) {
  const Summary summary = summarise(programs_, runs_, Scale::ratio, 0.05);
  const auto& cpu = summary.programs[0].outcomes[0].cpu;
  ASSERT_TRUE(cpu && cpu->interval);
  EXPECT_NEAR(cpu->value, 1.1, 1e-12);
  EXPECT_NEAR(cpu->interval->high - cpu->interval->low, 0, 1e-12);
  EXPECT_NEAR(summary.programs[0].outcomes[0].wall->value, 1, 1e-12);
}

TEST_F(PairedSummary, TheMedianOverProgramsIsThatOfTheirMedians) {
  const Summary summary = summarise(programs_, runs_, Scale::ratio, 0.05);
  ASSERT_EQ(summary.overall.size(), 1U);
  EXPECT_EQ(summary.overall[0].title, "on/off");
  EXPECT_NEAR(summary.overall[0].cpu->value, 1.2, 1e-12);
  EXPECT_EQ(summary.overall[0].cpu->n, 2U);
}

TEST_F(PairedSummary, APairWithAFailedRunIsLeftOutAndCounted) {
  runs_[0].problem = "exit status 1";
  runs_[0].times.cpu = 100;
  const Summary summary = summarise(programs_, runs_, Scale::ratio, 0.05);
  EXPECT_EQ(summary.programs[0].outcomes[0].cpu->n, 6U);
  EXPECT_NEAR(summary.programs[0].outcomes[0].cpu->interval->high, 1.1, 1e-12);
  EXPECT_EQ(summary.problems, 1U);
  EXPECT_THAT(to_text(summary), HasSubstr("1 runs failed"));
}

TEST_F(PairedSummary, DifferencesAreInMilliseconds) {
  const Summary summary = summarise(programs_, runs_, Scale::difference, 0.05);
  EXPECT_NEAR(summary.programs[0].outcomes[0].cpu->value, 0.25, 1e-12);
  EXPECT_THAT(to_text(summary), HasSubstr("+250.000"));
}

TEST_F(PairedSummary, TheJsonHasResultsAndEveryRun) {
  const auto json = to_json(summarise(programs_, runs_, Scale::ratio, 0.05), programs_, runs_);
  EXPECT_EQ(json["runs"].size(), 28U);
  EXPECT_EQ(json["runs"][1]["arm"], "off");
  EXPECT_NEAR(json["programs"][1]["outcomes"][0]["cpu"]["median"].get<double>(), 1.3, 1e-12);
  EXPECT_EQ(json["overall"].size(), 1U);
}

}  // namespace
}  // namespace stab::bench
