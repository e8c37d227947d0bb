// SPDX-License-Identifier: MIT
#include "store/rows/sample_list.h"

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

using counters::Samples;
using List = std::vector<Samples>;

List read(std::string_view text) {
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
  EXPECT_EQ(read(""), List());
}

TEST(SampleList, WhatIsWrittenIsReadBackEqual) {
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(read(sample_list(two)), two);
  const List extreme{{.measure = "m",
                      .subject = "quoted \"name\" \\ \n \x01 ä ]",
                      .unit = "µs,",
                      .values = {Limits::max(), -Limits::max(), Limits::denorm_min(), 1.0 / 3, 0}}};
  EXPECT_EQ(read(sample_list(extreme)), extreme);
  EXPECT_TRUE(nlohmann::json::accept(sample_list(extreme)));
  Random random(5);
  for (int round = 0; round < 20'000; ++round) {
    const double value =
        std::bit_cast<double>(random.below(std::numeric_limits<std::uint64_t>::max()));
    if (!std::isfinite(value)) continue;
    const List one{{.measure = "m", .values = {value}}};
    ASSERT_EQ(read(sample_list(one)), one) << value;
  }
}

TEST(SampleList, WhatIsNotFiniteIsAbsentAndNoNumber) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(read(sample_list({{.measure = "m", .values = {1, value}}})),
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
    EXPECT_THROW(read(whole.substr(0, size)), Failure) << size;
  for (const char* text :
       {"[]", "{}", "null", "[1]", "[[]]", R"([["a","",""]])", R"([["a","","",[]]])",
        R"([["a","","",null]])", R"([["a","","",[1e999]]])", R"([["a","","",[nan]]])",
        R"([["a","","",["1"]]])", R"([["a","","",[1],"x"]])", R"([["a","","",[1]]] )",
        R"([["a","",1,[1]]])", R"([["a","","",[1,]]])", R"([["a","","",[[1]]]])", R"([["\)"})
    EXPECT_THROW(read(text), Failure) << text;
}

TEST(SampleList, AnyChangedByteIsReadOrRefused) {
  read_with_changed_bytes(sample_list(two), read);
}

}  // namespace
}  // namespace stab::store
