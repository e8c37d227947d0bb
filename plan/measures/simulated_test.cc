// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "plan/measures/names.h"

namespace stab::plan {
namespace {

TEST(Simulated, ItsNamesAreNothingElses) {
  for (const std::string_view name : simulated_names) {
    EXPECT_TRUE(is_simulated(name)) << name;
    EXPECT_TRUE(is_own_name(name)) << name;
    EXPECT_FALSE(is_of_real_runs(name)) << name;
  }
  EXPECT_FALSE(is_simulated("instructions"));
}

TEST(Simulated, TimesAndMemoryAreOfRealRuns) {
  for (const char* name :
       {"wall", "user", "system", "cpu", "max_rss", "main_to_exit", "region", "region-parse-ns"})
    EXPECT_TRUE(is_of_real_runs(name)) << name;
  EXPECT_FALSE(is_of_real_runs("region-parse-count"));
  EXPECT_FALSE(is_of_real_runs("ops"));
}

}  // namespace
}  // namespace stab::plan
