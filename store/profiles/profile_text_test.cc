// SPDX-License-Identifier: MIT
#include "store/profiles/profile_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "store/exceptions.h"
#include "store/rows/changed_bytes_testing.h"

namespace stab::store {
namespace {

using counters::Profile;

Profile read(std::string_view text) {
  // Of another trial, as a loop over many has it.
  Profile profile{.event = "old",
                  .unit = "old",
                  .hz = 7,
                  .reason = "old",
                  .lost = 8,
                  .functions = {{.name = "old"}, {.name = "older"}}};
  read_profile_text(text, profile);
  return profile;
}

const Profile found{.event = "task-clock:u",
                    .unit = "ns",
                    .hz = 997,
                    .lost = 2,
                    .functions = {{"sort", "prog", 451, 452'357'000}, {"[unknown]", "", 1, 1003}}};
const Profile absent{.event = "cycles", .hz = 97, .reason = "no \"PMU\""};

TEST(ProfileText, IsAsTheDocumentSays) {
  EXPECT_EQ(profile_text(found), R"(["task-clock:u","ns",997,2,[["sort","prog",451,452357000],)"
                                 R"(["[unknown]","",1,1003]]])");
  EXPECT_EQ(profile_text(absent), R"(["cycles","",97,0,"no \"PMU\""])");
  EXPECT_EQ(profile_text({}), "");
  EXPECT_EQ(read(""), Profile());
}

TEST(ProfileText, WhatIsWrittenIsReadBackEqual) {
  EXPECT_EQ(read(profile_text(found)), found);
  EXPECT_EQ(read(profile_text(absent)), absent);
  // A trial that no sample hit has a profile: it took less than a period.
  Profile short_one = found;
  short_one.functions.clear();
  EXPECT_EQ(read(profile_text(short_one)), short_one);
  Profile extreme = found;
  extreme.functions.push_back({.name = "quoted \"name\" \\ \n \x01 ä ],[",
                               .object = "[",
                               .samples = 0,
                               .weight = std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(read(profile_text(extreme)), extreme);
  EXPECT_TRUE(nlohmann::json::accept(profile_text(extreme)));
  extreme.functions.back().weight = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(read(profile_text(extreme)).functions.back().weight,
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

// So that what stabd keeps of a trial is below the bound of what it takes from others.
TEST(ProfileText, IsNoLongerThanItsBound) {
  Profile large{.event = std::string(64, '\x01'),
                .unit = "ns",
                .hz = 4294967295,
                .lost = std::numeric_limits<std::uint64_t>::max()};
  for (int i = 0; i < 100; ++i)
    large.functions.push_back({std::string(400, '"'), std::string(100, '\x02'),
                               std::numeric_limits<std::uint64_t>::max(),
                               std::numeric_limits<std::uint64_t>::max()});
  EXPECT_LE(profile_text(large).size(), counters::bytes_of(large));
  EXPECT_LE(profile_text(absent).size(), counters::bytes_of(absent));
  EXPECT_EQ(counters::bytes_of(Profile()), 0);
}

TEST(ProfileText, WhatIsNoProfileIsRefused) {
  for (const std::string& whole : {profile_text(found), profile_text(absent)})
    for (std::size_t size = 1; size < whole.size(); ++size)
      EXPECT_THROW(read(whole.substr(0, size)), Failure) << size;
  for (const char* text : {"[]", "{}", "null", R"(["","",1,0,"r"])", R"(["a","",1,0,""])",
                           R"(["a","",-1,0,"r"])", R"(["a","",1.5,0,"r"])", R"(["a","",01,0,"r"])",
                           R"(["a","",4294967296,0,"r"])", R"(["a","",1,9223372036854775808,"r"])",
                           R"(["a","",1,0,[["f","o",1]]])", R"(["a","",1,0,[["f","o",1,1,1]]])",
                           R"(["a","",1,0,"r"] )", R"(["a","",1,0,[["f","o",1,1]],"r"])"})
    EXPECT_THROW(read(text), Failure) << text;
}

TEST(ProfileText, AnyChangedByteIsReadOrRefused) {
  read_with_changed_bytes(profile_text(found), read);
}

}  // namespace
}  // namespace stab::store
