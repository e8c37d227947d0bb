// SPDX-License-Identifier: MIT
#include "base/turns.h"

#include <gmock/gmock.h>

#include <string>

namespace stab {
namespace {

using ::testing::NotNull;

// The next turns, each thing with so many letters as it needs.
std::string turns_of(Turns<std::string>& all) {
  std::string order;
  while (!all.empty()) {
    std::string& now = all.front();
    order += now.front();
    now.erase(0, 1);
    const bool done = now.empty();
    all.pass();
    if (done) all.remove_if([](const std::string& each) { return each.empty(); });
  }
  return order;
}

TEST(Turns, AreTakenByUsersHoweverManyOneHas) {
  Turns<std::string> all;
  all.add(1, "aaaa");
  all.add(1, "bb");
  all.add(1, "c");
  all.add(2, "xx");
  all.add(3, "zzz");
  EXPECT_EQ(turns_of(all), "axzaxzazabbc");
}

TEST(Turns, OneWhoComesLaterWaitsForOneTurnOfEachAtMost) {
  Turns<std::string> all;
  all.add(1, "aaaa");
  all.add(2, "xxxx");
  for (int i = 0; i < 3; ++i) all.pass();
  all.add(3, "z");
  all.pass();
  all.pass();
  EXPECT_EQ(all.front(), "z");
}

TEST(Turns, OneThatIsGivenUpIsGone) {
  Turns<std::string> all;
  all.add(1, "a");
  all.add(2, "x");
  const auto is_a = [](const std::string& each) { return each == "a"; };
  EXPECT_THAT(all.find(is_a), NotNull());
  all.remove_if(is_a);
  EXPECT_EQ(all.find(is_a), nullptr);
  EXPECT_EQ(all.front(), "x");
}

}  // namespace
}  // namespace stab
