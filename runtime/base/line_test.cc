// SPDX-License-Identifier: MIT
#include "runtime/base/line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace stab::rt {
namespace {

std::string text_of(const Line& line) {
  return {line.data(), line.size()};
}

TEST(Line, WritesNumbers) {
  Line line;
  line.number(0).text(" ").number(UINT64_MAX).text(" ").hex(0).text(" ").hex(0xdeadbeef0);
  EXPECT_EQ(text_of(line), "0 18446744073709551615 0x0 0xdeadbeef0");
}

TEST(Line, OfFieldsIsJson) {
  Line line;
  line.field("a", uint64_t{5})
      .field("b", "quote \" back \\ control \n \xc3\xa4")
      .hex_field("c", 255);
  const auto json = nlohmann::json::parse(text_of(line.close()));
  EXPECT_EQ(json["a"], 5);
  EXPECT_EQ(json["b"], "quote \" back \\ control ? ??");
  EXPECT_EQ(json["c"], "0xff");
}

TEST(Line, ThatIsTooLongIsCut) {
  Line line;
  for (int i = 0; i < 1000; ++i) line.text("0123456789");
  EXPECT_LT(line.size(), 2000u);
  EXPECT_EQ(std::string(line.c_string()).size(), line.size());
}

}  // namespace
}  // namespace stab::rt
