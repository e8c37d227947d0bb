// SPDX-License-Identifier: MIT
#include "client/web/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace stab::client::web {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(WebAddress, IsThisMachineWhateverIsGiven) {
  for (const char* text : {"0", "127.0.0.1:0", "localhost:0", "127.8.9.1:0"}) {
    const auto address = Address::read(text);
    ASSERT_TRUE(address) << text;
    const auto listening = address->listen();
    ASSERT_TRUE(listening) << listening.error().message;
    EXPECT_THAT(place_of(*listening), StartsWith("127."));
    EXPECT_TRUE(is_own_host(place_of(*listening)));
  }
  EXPECT_TRUE(Address::read("[::1]:0"));
  for (const char* text : {"0.0.0.0:80", "[::]:80", "192.168.1.2:80", "example.org:80", ":80x", "",
                           "65536", "-1", "127.0.0.1", "127.0.0.1:", "[::ffff:10.0.0.1]:1", "1 "}) {
    const auto address = Address::read(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error().message, HasSubstr("127.0.0.1:PORT"));
  }
}

TEST(WebAddress, ThatIsTakenIsAnError) {
  const auto first = Address::read("0")->listen();
  ASSERT_TRUE(first);
  const auto second = Address::read(place_of(*first))->listen();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("Address already in use"));
}

TEST(WebAddress, OnlyNamesOfThisMachineAreItsHosts) {
  for (const char* host : {"localhost", "LOCALHOST:9000", "127.0.0.1", "127.0.0.1:41234", "[::1]",
                           "[::1]:80", "127.1.2.3:1"})
    EXPECT_TRUE(is_own_host(host)) << host;
  for (const char* host : {"", "example.org", "example.org:80", "localhost.example.org",
                           "127.0.0.1.example.org", "10.0.0.1", "0.0.0.0", "127.0.0.1:",
                           "127.0.0.1:x", "::1", "localhost ", "[::1", "127.0.0.1@example.org"})
    EXPECT_FALSE(is_own_host(host)) << host;
}

}  // namespace
}  // namespace stab::client::web
