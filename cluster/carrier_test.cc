// SPDX-License-Identifier: MIT
// Lines arrive whole and in order, and signs of life only where they are wanted.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "base/fd.h"
#include "cluster/relays.h"

namespace stab::cluster {
namespace {

class CarrierTest : public ::testing::Test {
 protected:
  CarrierTest() {
    for (auto& ends : {std::pair(&in_read_, &in_write_), {&out_read_, &out_write_}}) {
      std::array<int, 2> pipe{};
      EXPECT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
      *ends.first = Fd(pipe[0]);
      *ends.second = Fd(pipe[1]);
    }
    fcntl(out_read_.get(), F_SETFL, O_NONBLOCK);
  }
  void say(std::string_view text) const { ASSERT_TRUE(write_all(in_write_.get(), text)); }
  [[nodiscard]] std::string heard() const {
    std::string text(1 << 20, '\0');
    const ssize_t n = read(out_read_.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

  Fd in_read_;
  Fd in_write_;
  Fd out_read_;
  Fd out_write_;
};

TEST_F(CarrierTest, WholeLinesAreCarried) {
  Carrier carrier(in_read_.get(), out_write_.get(), Signs::end_here);
  carrier.move();
  EXPECT_FALSE(carrier.has_heard());
  say("\n");
  carrier.move();
  EXPECT_TRUE(carrier.has_heard());
  EXPECT_EQ(heard(), "");
  say("a\n\nb");
  carrier.move();
  EXPECT_EQ(heard(), "a\n");
  EXPECT_TRUE(carrier.wants_more());
  carrier.move();
  EXPECT_FALSE(carrier.wants_more()) << "nothing has arrived since";
  carrier.add("own");
  carrier.add("");
  say("c\n");
  carrier.move();
  EXPECT_EQ(heard(), "own\n\nbc\n");
  EXPECT_FALSE(carrier.wants_more());
  EXPECT_FALSE(carrier.ended());
}

TEST_F(CarrierTest, SignsGoOnIfTheyAreWanted) {
  Carrier carrier(in_read_.get(), out_write_.get(), Signs::go_on);
  say("\na\n\n");
  carrier.move();
  EXPECT_EQ(heard(), "\na\n\n");
}

TEST_F(CarrierTest, ALineCanBeKeptAndAddedLater) {
  std::string kept;
  Carrier carrier(in_read_.get(), out_write_.get(), Signs::end_here,
                  [&](Carrier& self, std::string_view line) {
                    if (line == "keep") kept = line;
                    if (line == "next") self.add(kept);
                    return line != "keep";
                  });
  say("keep\n");
  carrier.move();
  EXPECT_EQ(heard(), "");
  say("next\n");
  carrier.move();
  EXPECT_EQ(heard(), "keep\nnext\n");
}

TEST_F(CarrierTest, AReceiverThatReadsNothingStopsTheSender) {
  Carrier carrier(in_read_.get(), out_write_.get(), Signs::end_here);
  const std::string line(60'000, 'x');
  int sent = 0;
  while (carrier.reads() >= 0 && sent < 1000) {
    say(line + "\n");
    carrier.move();
    ++sent;
  }
  EXPECT_LT(sent, 1000);
  std::size_t bytes = 0;
  while (carrier.writes() >= 0) {
    bytes += heard().size();
    carrier.move();
  }
  bytes += heard().size();
  EXPECT_EQ(bytes, static_cast<std::size_t>(sent) * (line.size() + 1));
}

TEST_F(CarrierTest, TheEndOfEitherSideIsSeen) {
  Carrier carrier(in_read_.get(), out_write_.get(), Signs::end_here);
  in_write_.reset();
  carrier.move();
  EXPECT_TRUE(carrier.ended());
  std::signal(SIGPIPE, SIG_IGN);
  out_read_.reset();
  carrier.add("x");
  EXPECT_TRUE(carrier.broken());
}

}  // namespace
}  // namespace stab::cluster
