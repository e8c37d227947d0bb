// SPDX-License-Identifier: MIT
#include "runtime/start/region_clock.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/os.h"

namespace stab::rt {
namespace {

// Both are valid when zero, as the runtime has them.
std::unique_ptr<NamedRegions> no_regions() {
  return std::unique_ptr<NamedRegions>(new NamedRegions());
}

const NamedRegion* named(const NamedRegions& regions, const std::string& name) {
  for (std::size_t i = 0; i < max_regions; ++i)
    if (const NamedRegion* region = regions.at(i); region != nullptr && region->name == name)
      return region;
  return nullptr;
}

std::size_t count_of(const NamedRegions& regions) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < max_regions; ++i) count += regions.at(i) == nullptr ? 0 : 1;
  return count;
}

void pass_time() {
  const std::uint64_t from = os::monotonic_ns();
  while (os::monotonic_ns() - from < 100'000) {
  }
}

TEST(RegionClock, NestedBeginningsCountOnceUpToTheLastEnd) {
  RegionClock clock{};
  const std::uint64_t from = os::monotonic_ns();
  clock.begin();
  clock.begin();
  pass_time();
  clock.end();
  pass_time();
  clock.end();
  EXPECT_LE(clock.time(), os::monotonic_ns() - from);
  EXPECT_GE(clock.time(), 200'000u);
  EXPECT_EQ(clock.count(), 1u);
  EXPECT_FALSE(clock.is_open());
}

TEST(RegionClock, AnEndWithoutABeginningIsIgnored) {
  RegionClock clock{};
  clock.end();
  EXPECT_EQ(clock.time(), 0u);
  clock.begin();
  clock.end();
  const std::uint64_t time = clock.time();
  pass_time();
  clock.end();
  EXPECT_EQ(clock.time(), time);
  EXPECT_EQ(clock.count(), 1u);
}

TEST(RegionClock, AnOpenRegionEndsNow) {
  RegionClock clock{};
  clock.begin();
  clock.end();
  const std::uint64_t before = clock.time();
  const std::uint64_t from = os::monotonic_ns();
  clock.begin();
  pass_time();
  EXPECT_TRUE(clock.is_open());
  EXPECT_GE(clock.time(), before + 100'000);
  EXPECT_LE(clock.time(), before + (os::monotonic_ns() - from));
}

// Ends without a beginning of their own close what others have begun, in the midst of that, too.
TEST(RegionClock, StrayEndsNeverMakeMoreTimeThanThereWas) {
  RegionClock clock{};
  const std::uint64_t from = os::monotonic_ns();
  {
    std::jthread stray([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) clock.end();
    });
    for (int n = 0; n < 200'000; ++n) {
      clock.begin();
      EXPECT_LE(clock.time(), 2 * (os::monotonic_ns() - from));
      clock.end();
    }
  }
  EXPECT_LE(clock.time(), os::monotonic_ns() - from);
}

// Each thread's own region begins where another's ends, and is never below 0 or beyond all time.
TEST(RegionClock, ThreadsThatTakeTurnsNeverMakeMoreTimeThanThereWas) {
  RegionClock clock{};
  const std::uint64_t from = os::monotonic_ns();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 50'000; ++n) {
          clock.begin();
          clock.end();
        }
      });
    for (int n = 0; n < 10'000; ++n) EXPECT_LE(clock.time(), 4 * (os::monotonic_ns() - from));
  }
  EXPECT_LE(clock.time(), os::monotonic_ns() - from);
  EXPECT_GE(clock.count(), 1u);
  EXPECT_LE(clock.count(), 200'000u);
  EXPECT_FALSE(clock.is_open());
}

TEST(NamedRegions, OfDifferentNamesOverlap) {
  const auto regions = no_regions();
  regions->begin("outer");
  regions->begin("in.n-e_r2");
  pass_time();
  regions->end("outer");
  pass_time();
  regions->end("in.n-e_r2");
  regions->end("never");
  ASSERT_NE(named(*regions, "outer"), nullptr);
  ASSERT_NE(named(*regions, "in.n-e_r2"), nullptr);
  EXPECT_GE(named(*regions, "outer")->clock.time(), 100'000u);
  EXPECT_GE(named(*regions, "in.n-e_r2")->clock.time(), 200'000u);
  EXPECT_EQ(count_of(*regions), 2u);
  EXPECT_EQ(regions->refused(), 0u);
}

TEST(NamedRegions, WhatIsNoNameIsCountedAndMeasuresNothing) {  // R1
  const auto regions = no_regions();
  const std::string longest(max_region_name, 'x');
  regions->begin(longest.c_str());
  EXPECT_EQ(regions->refused(), 0u);
  const std::array<const char*, 6> bad{nullptr, "", "a b", "a\"b", "\n", "\xc3\xa4"};
  for (const char* name : bad) {
    regions->begin(name);
    regions->end(name);
  }
  regions->begin((longest + "x").c_str());
  EXPECT_EQ(regions->refused(), 7u);
  EXPECT_EQ(count_of(*regions), 1u);
}

// A page that cannot be read follows the last byte that has to be.
TEST(NamedRegions, OfATextThatIsNoNameNoMoreIsReadThanTheLongestName) {
  const auto page = static_cast<std::size_t>(getpagesize());
  void* both = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(both, MAP_FAILED);
  char* const end = static_cast<char*>(both) + page;
  ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
  char* const text = end - (max_region_name + 1);
  std::fill(text, end, 'x');
  const auto regions = no_regions();
  regions->begin(text);
  EXPECT_EQ(regions->refused(), 1u);
  munmap(both, 2 * page);
}

TEST(NamedRegions, BeyondTheLastOneAreCountedAndTheOthersGoOn) {  // R2
  const auto regions = no_regions();
  for (std::size_t i = 0; i < max_regions + 3; ++i) {
    const std::string name = "r" + std::to_string(i);
    regions->begin(name.c_str());
    regions->end(name.c_str());
  }
  EXPECT_EQ(count_of(*regions), max_regions);
  EXPECT_EQ(regions->refused(), 3u);
  regions->begin("r0");
  regions->end("r0");
  EXPECT_EQ(named(*regions, "r0")->clock.count(), 2u);
  EXPECT_EQ(named(*regions, "r64"), nullptr);
}

TEST(NamedRegions, ThreadsThatBeginThemFirstAtOnceMakeOneOfEachName) {
  for (int round = 0; round < 200; ++round) {
    const auto regions = no_regions();
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
          for (const char* name : {"a", "b", "c", "d"}) {
            regions->begin(name);
            regions->end(name);
          }
        });
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < max_regions; ++i)
      if (const NamedRegion* region = regions->at(i)) {
        EXPECT_TRUE(names.insert(region->name).second) << region->name;
        EXPECT_FALSE(region->clock.is_open());
      }
    EXPECT_EQ(names, (std::set<std::string>{"a", "b", "c", "d"}));
    EXPECT_EQ(regions->refused(), 0u);
  }
}

}  // namespace
}  // namespace stab::rt
