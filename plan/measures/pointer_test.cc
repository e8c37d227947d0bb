// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "plan/measures/output.h"

namespace stab::plan {
namespace {

using counters::Number;
using ::testing::HasSubstr;

// The document of RFC 6901, chapter 5, whose values tell which one was found.
constexpr std::string_view of_the_rfc = R"({"foo": [10, 11], "": 0, "a/b": 1, "c%d": 2, "e^f": 3,
  "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8})";

std::expected<Number, std::string> at(std::string_view json, std::string_view pointer) {
  const auto parts = split_pointer(pointer);
  EXPECT_TRUE(parts) << pointer;
  return number_at(json, parts.value_or(std::vector<std::string>{}));
}
std::string error_at(std::string_view json, std::string_view pointer) {
  const auto found = at(json, pointer);
  return found ? "" : found.error();
}

TEST(Pointer, FindsWhatTheRfcFinds) {
  EXPECT_EQ(at(of_the_rfc, "/foo/0"), Number(10));
  EXPECT_EQ(at(of_the_rfc, "/foo/1"), Number(11));
  EXPECT_EQ(at(of_the_rfc, "/"), Number(0));
  EXPECT_EQ(at(of_the_rfc, "/a~1b"), Number(1));
  EXPECT_EQ(at(of_the_rfc, "/c%d"), Number(2));
  EXPECT_EQ(at(of_the_rfc, "/e^f"), Number(3));
  EXPECT_EQ(at(of_the_rfc, "/g|h"), Number(4));
  EXPECT_EQ(at(of_the_rfc, "/i\\j"), Number(5));
  EXPECT_EQ(at(of_the_rfc, "/k\"l"), Number(6));
  EXPECT_EQ(at(of_the_rfc, "/ "), Number(7));
  EXPECT_EQ(at(of_the_rfc, "/m~0n"), Number(8));
  EXPECT_EQ(error_at(of_the_rfc, "/foo"), "an array is there");
  EXPECT_EQ(error_at(of_the_rfc, ""), "an object is there");
}

TEST(Pointer, OnlyWhatLiesOnTheWholePathIsFound) {
  constexpr std::string_view json =
      R"({"x": {"b": 1}, "a": [[1, {"b": 2}], {"c": {"b": 3}, "b": 4}, 5], "b": 6})";
  EXPECT_EQ(at(json, "/a/0/1/b"), Number(2));
  EXPECT_EQ(at(json, "/a/1/b"), Number(4));
  EXPECT_EQ(at(json, "/a/1/c/b"), Number(3));
  EXPECT_EQ(at(json, "/a/2"), Number(5));
  EXPECT_EQ(at(json, "/b"), Number(6));
  EXPECT_EQ(at("7", ""), Number(7));
  for (const char* none :
       {"/a/3", "/a/00", "/a/-", "/a/01", "/a/b", "/b/b", "/c", "/a/2/0", "/x/b/0"})
    EXPECT_EQ(error_at(json, none), "nothing is there") << none;
}

TEST(Pointer, NumbersKeepTheirDigits) {
  EXPECT_EQ(at("[0.25]", "/0"), Number(0.25));
  EXPECT_THAT(error_at("[1e-400]", "/0"), HasSubstr("1e-400"));
  EXPECT_EQ(at("[-9223372036854775808]", "/0"), Number(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(at("[9223372036854775807]", "/0"), Number(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(at("[9223372036854775808]", "/0"), Number(0x1p63));
  EXPECT_EQ(at("[0.1]", "/0"), Number(0.1));
  EXPECT_EQ(at("[2.5e3]", "/0"), Number(2500.0));
}

TEST(Pointer, SaysWhatIsThereInstead) {
  EXPECT_EQ(error_at(R"({"a": "12"})", "/a"), "the text '12' is there");
  EXPECT_EQ(error_at(R"({"a": null})", "/a"), "null is there");
  EXPECT_EQ(error_at(R"({"a": true})", "/a"), "true is there");
  EXPECT_EQ(error_at(R"({"a": 1, "a": 2})", "/a"), "the JSON pointer leads to more than one value");
  EXPECT_EQ(error_at("{\"a\": 1", "/a"), "invalid JSON at byte 8");
  EXPECT_EQ(error_at("{\"a\": 1} and more", "/a"), "invalid JSON at byte 10");
  EXPECT_THAT(error_at("", "/a"), HasSubstr("invalid JSON"));
  EXPECT_THAT(error_at("{\"a\": nan}", "/a"), HasSubstr("invalid JSON"));
  EXPECT_THAT(error_at("{\"a\": 1e999}", "/a"), HasSubstr("invalid JSON"));
  EXPECT_THAT(error_at(std::string(1'000'000, '['), "/0"), HasSubstr("invalid JSON"));
  EXPECT_EQ(error_at(std::string(1'000'000, '[') + std::string(1'000'000, ']'), "/0/0"),
            "an array is there");
}

TEST(Pointer, WhatIsNoPointerIsRefused) {
  for (const char* wrong : {"a", "a/b", "/~", "/~2", "/a~"})
    EXPECT_FALSE(split_pointer(wrong)) << wrong;
  EXPECT_EQ(split_pointer("/~01"), std::vector<std::string>{"~1"});
}

}  // namespace
}  // namespace stab::plan
