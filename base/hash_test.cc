// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace stab {
namespace {

// The examples of FIPS 180-2, appendix B.
TEST(Hash, AgreesWithThePublishedExamples) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, FieldsDoNotRunIntoEachOther) {
  Sha256 first;
  first.add_field("ab");
  first.add_field("c");
  Sha256 second;
  second.add_field("a");
  second.add_field("bc");
  EXPECT_NE(first.hex(), second.hex());
}

TEST(Hash, TheWordIsTheStartOfTheDigest) {
  Sha256 hash;
  hash.add("abc");
  EXPECT_EQ(hash.word(), 0xeacf018fbf1678baU);
}

// Every length around the ends of blocks and of the padding.
TEST(Hash, TheFastWordIsTheSameForEveryLength) {
  std::string text;
  for (int length = 0; length < 400; ++length) {
    Sha256 hash;
    hash.add(text);
    EXPECT_EQ(sha256_word(text), hash.word()) << length;
    text += static_cast<char>(length * 7 + 3);
  }
}

}  // namespace
}  // namespace stab
