// SPDX-License-Identifier: MIT
#include "results/profiles.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "results/testing.h"

namespace stab::results {
namespace {

using counters::ProfiledFunction;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string slow = "bubble mode=slow";
const std::string fast = "bubble mode=fast";

class Profiles : public DocumentTest {
 protected:
  void SetUp() override { begin(tables + "[measure]\nprofile = \"task-clock:u\"\n"); }

  // 10 ms in `same`; in `swap` 2 ms and a little at "slow", of which "fast" has none.
  static void sample(Trial& trial) {
    const std::uint64_t little = 1000 * (trial.block % 3);
    trial.profile = {.event = "task-clock:u", .unit = "ns", .hz = 997};
    trial.profile.functions = {{"same", "prog", 10, 10'000'000 + little}};
    if (trial.levels["mode"] == "slow")
      trial.profile.functions.push_back({"_Z4swapv", "prog", 2, 2'000'000 + 2 * little});
    else
      trial.profile.functions.push_back({"other", "libm.so.6", 1, 500'000 + little});
  }
  Result<protocol::ProfileReply> ask(protocol::ProfileRequest request) {
    request.id = experiment_.id;
    return answer_profile(*store_, experiment_, request);
  }
  std::string text(const protocol::ProfileRequest& request) {
    const auto reply = ask(request);
    return reply ? reply->text : "refused: " + reply.error().message;
  }
  json document(protocol::ProfileRequest request) {
    request.format = "json";
    return json::parse(text(request));
  }
  // The first measured one: behind the warm-ups.
  [[nodiscard]] std::uint32_t position(const std::string& mode) const {
    for (const plan::Trial& each : expansion_.trials)
      if (!each.warmup && each.benchmark == 0 && each.levels[0].name == mode) return each.position;
    return 0;
  }
};

TEST_F(Profiles, OfATrialIsATableOfItsFunctions) {
  run(sample);
  const std::uint32_t which = position("slow");
  EXPECT_THAT(text({.position = which}),
              AllOf(HasSubstr("bubble mode=slow, block"), HasSubstr("12 samples of task-clock:u"),
                    HasSubstr("swap()"), HasSubstr("prog"), HasSubstr("16.7 %")));
  const json found = document({.position = which});
  EXPECT_EQ(found["position"], which);
  EXPECT_EQ(found["cell"], slow);
  EXPECT_EQ(found["samples"], 12);
  ASSERT_EQ(found["functions"].size(), 2U);
  EXPECT_EQ(found["functions"][1]["function"], "swap()");
  EXPECT_EQ(found["functions"][1]["symbol"], "_Z4swapv");
  EXPECT_NEAR(found["functions"][1]["share"], 1.0 / 6, 0.001);
}

// By hand: four blocks; swap 2 ms and 0, so the difference is -2 ms less what varies.
TEST_F(Profiles, OfTwoCellsAreDifferencesByBlocks) {
  run(sample);
  const json found = document({.cells = {slow, fast}});
  EXPECT_EQ(found["blocks"], 4);
  EXPECT_EQ(found["trials_without"], 0);
  ASSERT_EQ(found["functions"].size(), 3U);
  const json& swap = found["functions"][0];
  EXPECT_EQ(swap["function"], "swap()");
  EXPECT_TRUE(swap["second"].is_null());
  EXPECT_NEAR(swap["first"], 2'000'000, 3000);
  EXPECT_NEAR(swap["difference"], -2'000'000, 3000);
  EXPECT_LT(swap["low"], swap["difference"]);
  EXPECT_LT(swap["high"], -1'990'000);
  EXPECT_LT(swap["p_adjusted"], 0.001);
  EXPECT_GT(swap["p_adjusted"], swap["p"]);
  const json& other = found["functions"][1];
  EXPECT_EQ(other["function"], "other");
  EXPECT_TRUE(other["first"].is_null());
  EXPECT_GT(other["difference"], 0);
  // It does not differ at all, so nothing is said of how sure that is.
  EXPECT_EQ(found["functions"][2]["difference"], 0);
  EXPECT_TRUE(found["functions"][2]["p"].is_null());
  EXPECT_NEAR(found["all"]["difference"], -1'500'000, 3000);
  // The other way round.
  EXPECT_NEAR(document({.cells = {fast, slow}})["functions"][0]["difference"], 2'000'000, 3000);
  EXPECT_THAT(text({.cells = {slow, fast}}), AllOf(HasSubstr("in 4 blocks"), HasSubstr("-2.00 ms"),
                                                   HasSubstr("all together"), HasSubstr("Holm")));
}

// gcc's object calls a destructor by one of its symbols, clang's by the other one.
TEST_F(Profiles, TheSymbolsOfOneFunctionAreOneRow) {
  run([](Trial& trial) {
    trial.profile = {.event = "task-clock:u", .unit = "ns", .hz = 997};
    const bool slow_one = trial.levels["mode"] == "slow";
    trial.profile.functions = {
        {slow_one ? "_ZN5ValueD2Ev" : "_ZN5ValueD1Ev", "prog", 10, 10'000'000U + trial.block}};
  });
  const json found = document({.cells = {slow, fast}});
  ASSERT_EQ(found["functions"].size(), 1U) << found["functions"];
  EXPECT_EQ(found["functions"][0]["function"], "Value::~Value()");
  EXPECT_NEAR(found["functions"][0]["difference"], 0, 1);
  EXPECT_EQ(one_symbol("_ZN1AC2Ei"), "_ZN1AC1Ei");
  EXPECT_EQ(one_symbol("_ZN2D2D2Ev"), "_ZN2D2D1Ev") << "a type may be called so";
  EXPECT_EQ(one_symbol("_ZN1AD0Ev"), "_ZN1AD0Ev") << "it frees, too";
  for (const char* other : {"D2Ev", "_ZD2", "main", "_Z2C2v"}) EXPECT_EQ(one_symbol(other), other);
}

TEST_F(Profiles, WhatHasNoneIsSaidWithTheReason) {
  run([](Trial& trial) {
    sample(trial);
    if (trial.block == 0 && trial.levels["mode"] == "slow")
      trial.profile = {.event = "task-clock:u", .hz = 997, .reason = "it was refused"};
  });
  EXPECT_THAT(text({.position = position("slow")}), HasSubstr("no profile: it was refused"));
  EXPECT_EQ(document({.position = position("slow")})["reason"], "it was refused");
  const json found = document({.cells = {slow, fast}});
  EXPECT_EQ(found["blocks"], 3);
  EXPECT_EQ(found["trials_without"], 1);
  EXPECT_THAT(text({.cells = {slow, fast}}), HasSubstr("1 trials of these cells"));
}

TEST_F(Profiles, WhatCannotBeAnsweredIsRefused) {
  run(sample);
  EXPECT_THAT(text({}), HasSubstr("refused: which profile?"));
  EXPECT_THAT(text({.cells = {slow}}), HasSubstr("refused: which profile?"));
  EXPECT_THAT(text({.position = 1, .cells = {slow, fast}}), HasSubstr("refused: which profile?"));
  EXPECT_THAT(text({.position = 1000}), HasSubstr("refused: trial 1000 of experiment"));
  EXPECT_THAT(text({.cells = {slow, slow}}), HasSubstr("cannot be compared with itself"));
  EXPECT_THAT(text({.cells = {slow, "bubble"}}), AllOf(HasSubstr("no trial of the cell 'bubble'"),
                                                       HasSubstr("'bubble mode=fast', '")));
}

TEST_F(Profiles, APlanWithoutThemSaysWhatToAdd) {
  begin(tables);
  run();
  EXPECT_THAT(text({.position = position("slow")}), HasSubstr("set 'measure.profile' in its plan"));
}

TEST_F(Profiles, TrialsWithoutALotOfThemAreLeftOut) {
  run([](Trial& trial) {
    if (trial.levels["mode"] == "slow") sample(trial);
  });
  EXPECT_EQ(document({.cells = {slow, fast}})["blocks"], 0);
  EXPECT_TRUE(document({.cells = {slow, fast}})["all"]["p"].is_null());
}

TEST(ProfileWords, AmountsHaveUnitsAndSymbolsAreReadable) {
  EXPECT_EQ(amount(12'345'678, "ns"), "12.3 ms");
  EXPECT_EQ(change(-500, "ns"), "-500 ns");
  EXPECT_EQ(change(0, "ns"), "+0.00 ns");
  EXPECT_EQ(readable("_ZN4stab3runEv"), "stab::run()");
  EXPECT_EQ(readable("_Zzz"), "_Zzz");
  EXPECT_EQ(readable("main"), "main");
}

}  // namespace
}  // namespace stab::results
