// SPDX-License-Identifier: MIT
#include "store/rows/raw_pages.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace stab::store {
namespace {

TEST(RawPages, AnyBytesAreReadWithinTheirBounds) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random.below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    const auto values = record_in(bytes);
    if (values) EXPECT_LE(values->size(), bytes.size());
  }
  EXPECT_EQ(record_in(""), std::nullopt);
}

}  // namespace
}  // namespace stab::store
