// SPDX-License-Identifier: MIT
#include "base/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace stab {
namespace {

// The test vectors of RFC 4648.
TEST(Base64, IsThatOfTheStandard) {
  const std::string word = "foobar";
  const char* const texts[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t size = 0; size <= word.size(); ++size) {
    EXPECT_EQ(to_base64(word.substr(0, size)), texts[size]);
    EXPECT_EQ(from_base64(texts[size]).value(), word.substr(0, size));
  }
}

TEST(Base64, HoldsAllBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(from_base64(to_base64(bytes)).value(), bytes);
  }
}

TEST(Base64, AnythingElseIsRefused) {
  for (const char* text :
       {"A", "Zg=", "Zg", "Z===", "====", "Zm9v\n", "Zg==Zg==", "Zm9*", "Zh==", "=m9v"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace stab
