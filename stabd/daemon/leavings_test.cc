// SPDX-License-Identifier: MIT
#include "stabd/daemon/leavings.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "stabd/daemon/clock_testing.h"
#include "store/test_support.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;
using archive::piece_of_file;

class LeavingsTest : public testing::Test {
 protected:
  // A spool's file of this size leaves its folder. The result still sees its size.
  Fd leave(std::int64_t bytes) {
    const auto spool = archive::Spool::make(directory_ / "", leavings_.take()).value();
    EXPECT_TRUE(spool->add("begin"));
    EXPECT_EQ(truncate(spool->file().c_str(), bytes), 0);
    return Fd(open(spool->file().c_str(), O_RDONLY | O_CLOEXEC));
  }
  static std::int64_t size(const Fd& file) {
    struct stat status{};
    EXPECT_EQ(fstat(file.get(), &status), 0);
    return status.st_size;
  }

  store::TemporaryDirectory directory_;
  ClockOfTest clock_;
  Leavings leavings_{clock_};
};

TEST_F(LeavingsTest, OnePieceIsFreedAtATime) {
  const Fd one = leave(3 * piece_of_file);
  const Fd other = leave(2 * piece_of_file);
  EXPECT_EQ(size(one), 3 * piece_of_file);
  clock_.pass(1ms);
  EXPECT_EQ(size(one), 2 * piece_of_file);
  clock_.pass(1ms);
  EXPECT_EQ(size(one), piece_of_file);
  EXPECT_EQ(size(other), 2 * piece_of_file);
  // The rest of one file goes with its descriptor, before the next file begins.
  clock_.pass(1ms);
  EXPECT_EQ(size(other), 2 * piece_of_file);
  clock_.pass(1ms);
  EXPECT_EQ(size(other), piece_of_file);
  EXPECT_EQ(clock_.running(), 1U);
  clock_.pass(1ms);
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(LeavingsTest, SmallFilesAreFreedAtOnce) {
  leave(piece_of_file);
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(LeavingsTest, ANewFileIsFreedAfterAllOthersHaveGone) {
  leave(2 * piece_of_file);
  clock_.pass(1s);
  const Fd file = leave(2 * piece_of_file);
  clock_.pass(1s);
  EXPECT_EQ(size(file), piece_of_file);
  EXPECT_EQ(clock_.running(), 0U);
}

}  // namespace
}  // namespace stab::daemon
