// SPDX-License-Identifier: MIT
// 'stabctl causal --load': more work comes in, as doc/causal.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/system/causal_testing.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

using CausalLoadTest = CausalSubjectTest;

// The subject's arrivals are 4 ms apart, or more where others have the CPU.
TEST_F(CausalLoadTest, ALoadMakesArrivalsFasterByWhatWasMeasured) {
  const std::string path = program();
  const Output made = run({"--load", "1.25x", "--runs", "2", "--json"}, {path, "arrive", "100"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("first run, at the original load: 1 thread visited arrival "
                                  "points; a thread's mean time between two visits was "));
  const json loads = json::parse(made.out)["loads"];
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_EQ(loads[0]["asked"], 1.25);
  EXPECT_GE(loads[0]["speedup_ns"].get<long>(), 800'000) << "a fifth of 4 ms";
  EXPECT_EQ(loads[0]["runs"], 2);
  EXPECT_GT(loads[0]["had"]["value"].get<double>(), 0);
  EXPECT_FALSE(json::parse(made.out).contains("changes")) << "with what?";
}

TEST_F(CausalLoadTest, AFailedRunIsLeftOutAndTheNextOneBegins) {
  const std::string path = program();
  const Output made =
      run({"--load", "1x", "--runs", "2", "--json"}, {path, "arrive", "100", lab_.path("times")});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err,
              HasSubstr("run 1 of 2 at 1x: the program exited with 9; the run is left out"));
  EXPECT_THAT(made.err, HasSubstr("run 2 of 2 at 1x: "));
  EXPECT_EQ(json::parse(made.out)["runs"], 1);
}

// The other half ends at 0.
double upper_half(const json& measured) {
  return measured["high"].get<double>() - measured["value"].get<double>();
}

// By one run: the arrivals of two runs have an error of s / sqrt(2), a ratio to one more sqrt(3) times that.
TEST_F(CausalLoadTest, WhatWasHadOfOneLoadHasTheErrorOfTheRunBefore) {
  const std::string path = program();
  const Output made = run({"--load", "1.25x", "--runs", "2", "--json"}, {path, "arrive", "100"});
  ASSERT_EQ(made.code, 0) << made.err;
  const json load = json::parse(made.out)["loads"][0];
  const auto share = [&](const char* name) {
    return upper_half(load[name]) / load[name]["value"].get<double>();
  };
  EXPECT_NEAR(share("had"), std::sqrt(3.0) * share("arrivals"), 1e-6 + 1e-3 * share("had"));
}

TEST_F(CausalLoadTest, WhatWasHadIsByTheRunsAtOneIfThereAreSuch) {
  const std::string path = program();
  const Output made = run({"--load", "1x,1.25x", "--runs", "2", "--json"}, {path, "arrive", "100"});
  ASSERT_EQ(made.code, 0) << made.err;
  const json loads = json::parse(made.out)["loads"];
  ASSERT_EQ(loads.size(), 2U);
  for (const char* of : {"value", "low", "high"}) EXPECT_EQ(loads[0]["had"][of], 1);
  const auto arrivals = [&](std::size_t at) {
    return loads[at]["arrivals"]["value"].get<double>();
  };
  EXPECT_NEAR(loads[1]["had"]["value"].get<double>(), arrivals(1) / arrivals(0), 1e-6);
  EXPECT_GT(upper_half(loads[1]["had"]), 0);
}

// The loads of "run 1 of 4 at 1.25x: ..." and of those that follow.
std::vector<std::string> order_in(const std::string& said) {
  std::vector<std::string> order;
  for (const char* run : {"run 1 of 4 at ", "run 2 of 4 at ", "run 3 of 4 at ", "run 4 of 4 at "}) {
    const std::size_t at = said.find(run);
    if (at == std::string::npos) return {};
    const std::size_t from = at + std::string(run).size();
    order.push_back(said.substr(from, said.find(':', from) - from));
  }
  return order;
}

TEST_F(CausalLoadTest, SeveralLoadsTakeTurnsAndAreComparedWithEachOther) {
  const std::string path = program();
  const Output made = run({"--load", "1.25x,1x", "--runs", "2", "--json"}, {path, "arrive", "150"});
  ASSERT_EQ(made.code, 0) << made.err;
  const json object = json::parse(made.out);
  EXPECT_EQ(object["runs"], 4);
  ASSERT_EQ(object["loads"].size(), 2U);
  EXPECT_EQ(object["loads"][0]["asked"], 1);
  EXPECT_EQ(object["loads"][0]["speedup_ns"], 0);
  EXPECT_EQ(object["loads"][1]["asked"], 1.25);
  std::set<std::string> names;
  for (const json& point : object["loads"][1]["points"]) names.insert(point["name"]);
  EXPECT_THAT(names, ElementsAre("item", "step", "wait")) << "what arrives is no point of its own";
  std::set<double> loads;
  for (const json& point : object["points"]) loads.insert(point["load"].get<double>());
  EXPECT_THAT(loads, ElementsAre(1, 1.25));
  EXPECT_TRUE(object["changes"].is_array());
  const std::vector<std::string> order = order_in(made.err);
  ASSERT_EQ(order.size(), 4U) << made.err;
  for (const std::size_t block : {0U, 2U})
    EXPECT_THAT((Words{order[block], order[block + 1]}), UnorderedElementsAre("1x", "1.25x"));
}

TEST_F(CausalLoadTest, TheSeedDecidesAboutTheOrderOfLoads) {
  const std::string path = program();
  const auto order = [&](const char* seed) {
    return order_in(
        run({"--load", "1x,1.25x", "--runs", "2", "--seed", seed}, {path, "arrive", "20"}).err);
  };
  const std::vector<std::string> first = order("1");
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(order("1"), first);
  EXPECT_NE(order("4"), first);
}

TEST_F(CausalLoadTest, TheReportSaysTheLoadThatWasAskedForAndTheOneThatWasHad) {
  const std::string path = program();
  const Output made = run({"--load", "1x,1.25x", "--runs", "1"}, {path, "arrive", "100"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith("load    had "));
  EXPECT_THAT(made.out, HasSubstr("\n1x      "));
  EXPECT_THAT(made.out, HasSubstr("\n1.25x   "));
  EXPECT_THAT(made.out, HasSubstr("\nVisits per second of item against load\n"));
  EXPECT_THAT(made.out, HasSubstr("\nLatency in us of wait against load\n"));
  EXPECT_THAT(made.out,
              HasSubstr("The program is not known to be saturated at any of these loads."))
      << "one run has no interval";
  EXPECT_THAT(made.out, HasSubstr("\nAt a load of 1.25x\n\n"));
}

TEST_F(CausalLoadTest, WhatIsNoLoadOrCannotBeReachedIsRefusedWithWhatToChange) {
  const std::string path = program();
  const auto refused = [&](const Words& options, const Words& command) {
    Words all{path};
    all.insert(all.end(), command.begin(), command.end());
    const Output made = run(options, all);
    EXPECT_EQ(made.code, 1) << made.err;
    EXPECT_EQ(made.out, "");
    return made.err;
  };
  const Words arrives{"arrive", "30"};
  EXPECT_THAT(refused({"--load", "0x"}, arrives), HasSubstr("needs loads, for example 1.25x"));
  EXPECT_THAT(refused({"--load=-1x"}, arrives), HasSubstr("needs loads, for example 1.25x"));
  EXPECT_THAT(refused({"--load", "0.5x"}, arrives), HasSubstr("the lowest load is 1x"));
  EXPECT_THAT(refused({"--load", "2x", "--arrival-speedup", "1ms"}, arrives),
              HasSubstr("give either --load or --arrival-speedup"));
  EXPECT_THAT(refused({"--load", "2x,2x"}, arrives), HasSubstr("twice"));
  EXPECT_THAT(refused({"--load", "1x,2x", "--coz", "-"}, arrives), HasSubstr("one load at a time"));
  EXPECT_THAT(refused({"--load", "50x"}, arrives),
              HasSubstr("the highest possible load is 20.00x"));
  EXPECT_THAT(refused({"--load", "2x"}, {"work", "30"}), HasSubstr("no arrival point was visited"));
  EXPECT_THAT(refused({"--load", "2x"}, {"arrive", "5"}), HasSubstr("more than 10 visits"));
  EXPECT_THAT(refused({"--load", "2x"}, {"crash", "5"}),
              HasSubstr("was killed by Segmentation fault in the run that measures arrivals"));
  const Output read = lab_.ctl({"causal", "--load", "2x", "--read", "any"});
  EXPECT_EQ(read.code, 1);
  EXPECT_THAT(read.err, HasSubstr("--read and --load cannot be used together"));
}

}  // namespace
}  // namespace stab::test
