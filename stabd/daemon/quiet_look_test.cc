// SPDX-License-Identifier: MIT
// Looks at an imagined machine of four CPUs, on which trials use CPU 2.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "machine/quiet/tree_testing.h"
#include "stabd/daemon/clock_testing.h"
#include "stabd/daemon/host.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

class QuietLookTest : public machine::Tree {
 protected:
  QuietLookTest() { busy(0); }
  // The milliseconds for which CPU 2 has been busy since the machine started.
  void busy(long ms) const {
    put("/proc/stat",
        fmt::format("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 9 0 0 0 0 0 0\ncpu1 0 0 0 9 0 0 0 0 0 0\n"
                    "cpu2 0 {} 0 9 0 0 0 0 0 0\ncpu3 0 0 0 9 0 0 0 0 0 0\nintr 1\n",
                    ms * sysconf(_SC_CLK_TCK) / 1000));
  }
  void begin(const machine::CalmBounds& bounds = {.load = 0.05}) {
    look_.begin({2}, bounds,
                [this](const std::string& loud, const std::vector<std::string>& missing) {
                  ++looks_;
                  loud_ = loud;
                  missing_ = missing;
                });
  }

  ClockOfTest clock_;
  QuietLook look_{clock_, root_};
  int looks_ = 0;
  std::string loud_;
  std::vector<std::string> missing_;
};

TEST_F(QuietLookTest, EndsAfterHalfASecond) {
  begin();
  clock_.pass(499ms);
  EXPECT_EQ(looks_, 0);
  clock_.pass(1ms);
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(loud_, "");
  clock_.pass(1h);
  EXPECT_EQ(looks_, 1);
}

TEST_F(QuietLookTest, SaysWhatWasNotQuiet) {
  begin();
  busy(250);
  clock_.pass(500ms);
  EXPECT_THAT(loud_, testing::HasSubstr("CPU 2 is 50 % busy"));
}

TEST_F(QuietLookTest, SaysWhatCannotBeChecked) {
  begin({.load = 0.05, .frequency_khz = 1e6});
  std::filesystem::remove(root_ + "/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq");
  clock_.pass(500ms);
  EXPECT_FALSE(missing_.empty());
}

TEST_F(QuietLookTest, AStoppedLookSaysNothing) {
  begin();
  look_.stop();
  clock_.pass(1h);
  EXPECT_EQ(looks_, 0);
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(QuietLookTest, ANewLookTakesThePlaceOfTheOldOne) {
  begin();
  clock_.pass(300ms);
  begin();
  clock_.pass(300ms);
  EXPECT_EQ(looks_, 0);
  clock_.pass(200ms);
  EXPECT_EQ(looks_, 1);
}

}  // namespace
}  // namespace stab::daemon
