// SPDX-License-Identifier: MIT
#include "protocol/lines.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "base/fd.h"

namespace stab::protocol {
namespace {

TEST(LineBuffer, LinesComeOutWholeHoweverTheyArrive) {
  LineBuffer lines(100);
  EXPECT_TRUE(lines.add("one\ntw"));
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_TRUE(lines.add("o\n\nthree\n"));
  EXPECT_EQ(lines.next(), "two");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), "three");
  EXPECT_EQ(lines.next(), std::nullopt);
}

TEST(LineBuffer, AnEndlessLineIsNoticed) {
  LineBuffer lines(10);
  EXPECT_TRUE(lines.add("0123456789"));
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_FALSE(lines.add("0"));
}

TEST(LineBuffer, ManyShortLinesMayBeLongerThanTheLimitTogether) {
  LineBuffer lines(10);
  EXPECT_TRUE(lines.add("123456\n123456\n123456\n"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(lines.next(), "123456");
}

TEST(Channel, CarriesLinesAndSeesTheEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  Fd first(ends[0]);
  const Fd second(ends[1]);
  ASSERT_TRUE(Channel(first.get(), 100).send("hello"));
  first.reset();
  Channel channel(second.get(), 100);
  EXPECT_EQ(channel.receive().value(), "hello");
  EXPECT_EQ(channel.receive().value(), std::nullopt);
  EXPECT_FALSE(channel.send("into the void"));
}

}  // namespace
}  // namespace stab::protocol
