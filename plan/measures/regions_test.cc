// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>

#include "plan/measures/names.h"

namespace stab::plan {
namespace {

TEST(Regions, NamesAreShortAndOfFewCharacters) {
  for (const char* name : {"a", "parse", "Json.parse_2-b", "-", "ns"})
    EXPECT_TRUE(is_region_name(name)) << name;
  EXPECT_TRUE(is_region_name(std::string(max_region_name, 'x')));
  EXPECT_FALSE(is_region_name(std::string(max_region_name + 1, 'x')));
  for (const char* name : {"", "a b", "a/b", "a\"b", "a,b", "\n", "\xc3\xa4"})
    EXPECT_FALSE(is_region_name(name)) << name;
  EXPECT_FALSE(is_region_name(std::string("a\0b", 3)));
}

TEST(Regions, EachReadingNamesItsRegion) {
  for (const std::string name : {"parse", "-", "a-ns", "a-count", "region-x-ns"}) {
    EXPECT_EQ(region_of(region_time(name)), name);
    EXPECT_EQ(region_of(region_count(name)), name);
    EXPECT_NE(region_time(name), region_count(name));
  }
  EXPECT_EQ(region_time("parse"), "region-parse-ns");
  EXPECT_EQ(region_count("parse"), "region-parse-count");
  for (const std::string reading :
       {"region", "region_ns", "regions", "region-ns", "region--ns", "region-parse", "region- -ns",
        "xregion-a-ns", "region-a-ns.status"})
    EXPECT_EQ(region_of(reading), std::nullopt) << reading;
}

TEST(Regions, NoMeasureOfAPlanHasTheNameOfOne) {
  EXPECT_TRUE(is_own_name("region-parse-ns"));
  EXPECT_TRUE(is_own_name("region-parse-count"));
  EXPECT_FALSE(is_own_name("region-parse"));
}

}  // namespace
}  // namespace stab::plan
