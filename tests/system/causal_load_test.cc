// SPDX-License-Identifier: MIT
// 'stabctl causal --load': more work comes in, as doc/causal.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

class CausalLoadTest : public ::testing::Test {
 protected:
  std::string program() const {
    const Output made =
        run_program({"/bin/sh", "-c",
                     "clang-19 -g -O1 -I " STAB_SOURCE_DIR "/runtime -o subject " STAB_SOURCE_DIR
                     "/tests/system/causal_subject.c"},
                    lab_.folder());
    EXPECT_EQ(made.code, 0) << made.err;
    return lab_.path("subject");
  }
  Output run(Words options, const Words& command) const {
    options.insert(options.begin(), "causal");
    options.insert(options.end(), {"--experiment", "20ms", "--scope", "*/causal_subject.c", "--"});
    options.insert(options.end(), command.begin(), command.end());
    return lab_.ctl(options);
  }
  Lab lab_;
};

// The subject's arrivals are 4 ms apart, or more where others have the CPU.
TEST_F(CausalLoadTest, ALoadMakesArrivalsFasterByWhatWasMeasured) {
  const std::string path = program();
  const Output made = run({"--load", "1.25x", "--runs", "2", "--json"}, {path, "arrive", "100"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("run before them: 1 thread passes arrival points, each every "));
  const json loads = json::parse(made.out)["loads"];
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_EQ(loads[0]["asked"], 1.25);
  EXPECT_GE(loads[0]["speedup_ns"].get<long>(), 800'000) << "a fifth of 4 ms";
  EXPECT_GT(loads[0]["had"].get<double>(), 0);
}

TEST_F(CausalLoadTest, TheReportSaysTheLoadThatWasAskedForAndTheOneThatWasHad) {
  const Output made = run({"--load", "1x", "--runs", "1"}, {program(), "arrive", "100"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith("A load of 1x was asked for and "));
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
  EXPECT_THAT(refused({"--load", "0x"}, arrives), HasSubstr("takes loads like 1.25x"));
  EXPECT_THAT(refused({"--load=-1x"}, arrives), HasSubstr("takes loads like 1.25x"));
  EXPECT_THAT(refused({"--load", "0.5x"}, arrives), HasSubstr("not slower"));
  EXPECT_THAT(refused({"--load", "2x", "--arrival-speedup", "1ms"}, arrives),
              HasSubstr("give either --load or --arrival-speedup"));
  EXPECT_THAT(refused({"--load", "50x"}, arrives), HasSubstr("the most is 20.00x"));
  EXPECT_THAT(refused({"--load", "2x"}, {"work", "30"}), HasSubstr("no arrival point was visited"));
  EXPECT_THAT(refused({"--load", "2x"}, {"arrive", "5"}), HasSubstr("more than 10 visits"));
  EXPECT_THAT(refused({"--load", "2x"}, {"crash", "5"}),
              HasSubstr("was ended by Segmentation fault in the run that measures arrivals"));
  const Output read = lab_.ctl({"causal", "--load", "2x", "--read", "any"});
  EXPECT_EQ(read.code, 1);
  EXPECT_THAT(read.err, HasSubstr("--load needs a program to run"));
}

}  // namespace
}  // namespace stab::test
