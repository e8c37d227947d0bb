// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "base/time.h"

namespace stab {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_duration("60s"), 60s);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("10min"), 10min);
  EXPECT_EQ(parse_duration("10m"), 10min);
}

TEST(Duration, RefusesWhatIsNotADuration) {
  for (const char* text :
       {"", "60", "s", "-1s", "1 s", "1M", "nan s", "infs", "1e3s", "99999999999999h"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

TEST(Duration, PrintsThreeDigitsAndAUnit) {
  EXPECT_EQ(format_duration(80ns), "80 ns");
  EXPECT_EQ(format_duration(45600us), "45.6 ms");
  EXPECT_EQ(format_duration(1234ms), "1.23 s");
  EXPECT_EQ(format_duration(125s), "2 min 5 s");
  EXPECT_EQ(format_duration(12000s), "3 h 20 min");
}

}  // namespace
}  // namespace stab
