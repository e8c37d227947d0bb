// SPDX-License-Identifier: MIT
#include "store/rows/lists.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "store/exceptions.h"
#include "store/rows/changed_bytes_testing.h"

namespace stab::store {
namespace {

using counters::Reading;
using counters::Status;
using Readings = std::vector<Reading>;

Readings read_readings(std::string_view text) {
  // Of another trial, as a loop over many has it.
  Readings readings{{.name = "old", .unit = "old", .value = 7, .coverage = 0.1, .reason = "old"},
                    {.name = "older"}};
  read_reading_list(text, readings);
  return readings;
}

TEST(NodeList, IsAsTheDocumentSaysAndReadsBack) {
  const std::vector<Node> nodes{
      {.name = "n1", .hardware = "AMD EPYC, 8 CPUs in 4 cores in 1 package", .trial_cpus = "2-3"},
      {.name = "n2", .hardware = "a \"CPU\" \\ ä ]", .trial_cpus = ""},
      {.name = "n3", .times = 1},
      {.name = "n4", .trial_cpus = "1", .times = 1.0 / 3}};
  EXPECT_EQ(node_list({nodes[0]}), R"([["n1","AMD EPYC, 8 CPUs in 4 cores in 1 package","2-3"]])");
  EXPECT_EQ(node_list({nodes[2]}), R"([["n3","","",1.0]])");
  EXPECT_EQ(nodes_in(node_list(nodes)), nodes);
  EXPECT_TRUE(nlohmann::json::accept(node_list(nodes)));
  EXPECT_EQ(node_list({}), "");
  EXPECT_EQ(nodes_in(""), std::vector<Node>());
}

TEST(NodeList, AnyOtherTextIsRefused) {
  for (const char* text :
       {"[]", "[[]]", R"(["n1","a","2"])", R"([["n1","a"]])", R"([["n1","a","2","x"]])",
        R"([["n1","a","2",3,4]])", R"([["n1","a","2",nan]])", R"([["n1","a",2]])",
        R"([["n1","a","2"],])", R"([["n1","a","2"]]x)", R"([["n1", "a","2"]])"})
    EXPECT_THROW(nodes_in(text), Failure) << text;
}

TEST(ReadingList, IsAsTheDocumentSays) {
  EXPECT_EQ(reading_list({counters::counted("page-faults", "", 12),
                          counters::counted("ratio", "", 0.5),
                          {.name = "cycles", .status = Status::scaled, .value = 9, .coverage = .25},
                          counters::absent("steal", "ns", "no /proc")}),
            R"([["page-faults","",12],["ratio","",0.5],["cycles","",9,0.25],)"
            R"(["steal","ns",null,"no /proc"]])");
  EXPECT_EQ(reading_list({}), "");
  EXPECT_EQ(read_readings(""), Readings());
}

TEST(ReadingList, WhatIsWrittenIsReadBackEqual) {
  using Limits = std::numeric_limits<double>;
  Readings readings{
      counters::counted("most", "ns", std::numeric_limits<std::int64_t>::max()),
      counters::counted("least", "ns", std::numeric_limits<std::int64_t>::min()),
      counters::counted("whole real", "", 1.0),
      counters::counted("third", "", 1.0 / 3),
      counters::counted("tiny", "", Limits::denorm_min()),
      counters::counted("huge", "", Limits::max()),
      counters::counted("quoted \"name\" \\ \n \x01 ä ]", "µs,", 0),
      {.name = "late", .status = Status::absent, .coverage = 0, .reason = "too \"late\"]"},
      {.name = "whole", .status = Status::scaled, .value = 1.5, .coverage = 1}};
  EXPECT_EQ(read_readings(reading_list(readings)), readings);
  EXPECT_TRUE(nlohmann::json::accept(reading_list(readings)));
  Random random(3);
  for (int i = 0; i < 10'000; ++i) {
    const auto bits = random.below(std::numeric_limits<std::uint64_t>::max());
    const auto real = std::bit_cast<double>(bits);
    if (!std::isfinite(real)) continue;
    readings = {counters::counted("r", "", real),
                counters::counted("i", "", std::bit_cast<std::int64_t>(bits))};
    ASSERT_EQ(read_readings(reading_list(readings)), readings) << reading_list(readings);
  }
}

TEST(ReadingList, ARealStaysARealAndZeroKeepsItsSign) {
  const Readings found = read_readings(reading_list({counters::counted("x", "", -0.0)}));
  ASSERT_TRUE(std::holds_alternative<double>(found[0].value));
  EXPECT_TRUE(std::signbit(std::get<double>(found[0].value)));
}

TEST(ReadingList, WhatIsNotFiniteIsAbsentAndNoNumber) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(read_readings(reading_list({counters::counted("x", "", value)})),
              Readings{counters::absent("x", "", "its value is not finite")});
}

TEST(ReadingList, WhatIsNoListIsRefused) {
  const std::string whole = reading_list({counters::counted("a\n", "ns", 12),
                                          counters::counted("b", "", 1.5e-7),
                                          counters::absent("c", "", "why"),
                                          {.name = "d", .status = Status::scaled, .coverage = .5}});
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_THROW(read_readings(whole.substr(0, size)), Failure) << size;
  for (const char* text :
       {"[]", "{}", "null", "[1]", "[[]]", R"([["a","",]])", R"([["a","",null]])",
        R"([["a","",9223372036854775808]])", R"([["a","",1e999]])", R"([["a","",nan.0]])",
        R"([["a","",0x1]])", R"([["a","",1]] )", R"([["a",1,1]])", R"([["\u12","",1]])", R"([["\)",
        R"([["a","",1,"x"]])", R"([["a","",null,"x","y"]])", R"([["a","",true]])"})
    EXPECT_THROW(read_readings(text), Failure) << text;
}

TEST(ReadingList, AnyChangedByteIsReadOrRefused) {
  read_with_changed_bytes(
      reading_list({counters::counted("a\"", "ns", 12), counters::counted("b", "", 1.5e-7),
                    counters::absent("c", "", "why")}),
      read_readings);
}

using counters::Samples;
using List = std::vector<Samples>;

List read_samples(std::string_view text) {
  // Of another trial, as a loop over many has it.
  List samples{
      {.measure = "old", .subject = "old", .unit = "old", .values = {7, 8}, .reason = "old"},
      {.measure = "older"}};
  read_sample_list(text, samples);
  return samples;
}

const List two{{.measure = "time", .subject = "BM_a/8", .unit = "ns", .values = {12.5, 13}},
               {.measure = "time", .subject = "BM_b", .unit = "ns", .reason = "no \"keys\""}};

TEST(SampleList, IsAsTheDocumentSays) {
  EXPECT_EQ(sample_list(two),
            R"([["time","BM_a/8","ns",[12.5,13]],["time","BM_b","ns",null,"no \"keys\""]])");
  EXPECT_EQ(sample_list({}), "");
  EXPECT_EQ(read_samples(""), List());
}

TEST(SampleList, WhatIsWrittenIsReadBackEqual) {
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(read_samples(sample_list(two)), two);
  const List extreme{{.measure = "m",
                      .subject = "quoted \"name\" \\ \n \x01 ä ]",
                      .unit = "µs,",
                      .values = {Limits::max(), -Limits::max(), Limits::denorm_min(), 1.0 / 3, 0}}};
  EXPECT_EQ(read_samples(sample_list(extreme)), extreme);
  EXPECT_TRUE(nlohmann::json::accept(sample_list(extreme)));
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    const double value =
        std::bit_cast<double>(random.below(std::numeric_limits<std::uint64_t>::max()));
    if (!std::isfinite(value)) continue;
    const List one{{.measure = "m", .values = {value}}};
    ASSERT_EQ(read_samples(sample_list(one)), one) << value;
  }
}

TEST(SampleList, WhatIsNotFiniteIsAbsentAndNoNumber) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(read_samples(sample_list({{.measure = "m", .values = {1, value}}})),
              (List{{.measure = "m", .reason = "its values are not finite"}}));
}

// So that what stabd keeps of a trial is below the bound of what it takes from others.
TEST(SampleList, IsNoLongerThanItsBound) {
  List list{{.measure = std::string(64, '\x01'),
             .subject = std::string(100, '"'),
             .unit = "ns",
             .values = std::vector<double>(1000, -2.2250738585072014e-308)},
            {.measure = "m", .reason = std::string(100, '\x02')}};
  std::size_t bound = 2;
  for (const Samples& each : list) bound += counters::bytes_of(each);
  EXPECT_LE(sample_list(list).size(), bound);
}

TEST(SampleList, WhatIsNoListIsRefused) {
  const std::string whole = sample_list(two);
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_THROW(read_samples(whole.substr(0, size)), Failure) << size;
  for (const char* text :
       {"[]", "{}", "null", "[1]", "[[]]", R"([["a","",""]])", R"([["a","","",[]]])",
        R"([["a","","",null]])", R"([["a","","",[1e999]]])", R"([["a","","",[nan]]])",
        R"([["a","","",["1"]]])", R"([["a","","",[1],"x"]])", R"([["a","","",[1]]] )",
        R"([["a","",1,[1]]])", R"([["a","","",[1,]]])", R"([["a","","",[[1]]]])", R"([["\)"})
    EXPECT_THROW(read_samples(text), Failure) << text;
}

TEST(SampleList, AnyChangedByteIsReadOrRefused) {
  read_with_changed_bytes(sample_list(two), read_samples);
}

using counters::Profile;

Profile read_profile(std::string_view text) {
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
  EXPECT_EQ(read_profile(""), Profile());
}

TEST(ProfileText, WhatIsWrittenIsReadBackEqual) {
  EXPECT_EQ(read_profile(profile_text(found)), found);
  EXPECT_EQ(read_profile(profile_text(absent)), absent);
  // A trial that no sample hit has a profile: it took less than a period.
  Profile short_one = found;
  short_one.functions.clear();
  EXPECT_EQ(read_profile(profile_text(short_one)), short_one);
  Profile extreme = found;
  extreme.functions.push_back({.name = "quoted \"name\" \\ \n \x01 ä ],[",
                               .object = "[",
                               .samples = 0,
                               .weight = std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(read_profile(profile_text(extreme)), extreme);
  EXPECT_TRUE(nlohmann::json::accept(profile_text(extreme)));
  extreme.functions.back().weight = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(read_profile(profile_text(extreme)).functions.back().weight,
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
      EXPECT_THROW(read_profile(whole.substr(0, size)), Failure) << size;
  for (const char* text : {"[]", "{}", "null", R"(["","",1,0,"r"])", R"(["a","",1,0,""])",
                           R"(["a","",-1,0,"r"])", R"(["a","",1.5,0,"r"])", R"(["a","",01,0,"r"])",
                           R"(["a","",4294967296,0,"r"])", R"(["a","",1,9223372036854775808,"r"])",
                           R"(["a","",1,0,[["f","o",1]]])", R"(["a","",1,0,[["f","o",1,1,1]]])",
                           R"(["a","",1,0,"r"] )", R"(["a","",1,0,[["f","o",1,1]],"r"])"})
    EXPECT_THROW(read_profile(text), Failure) << text;
}

TEST(ProfileText, AnyChangedByteIsReadOrRefused) {
  read_with_changed_bytes(profile_text(found), read_profile);
}

}  // namespace
}  // namespace stab::store
