// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "machine/observer.h"
#include "machine/quiet/tree_testing.h"

namespace stab::machine {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Four CPUs, trials on 2.
class CalmTest : public Tree {
 protected:
  CalmTest() {
    busy(0, 0);
    put("/proc/pressure/memory", "some avg10=0 avg60=0 avg300=0 total=0\n");
    put("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    put("/sys/class/thermal/thermal_zone0/temp", "45500\n");
    put("/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "2400000\n");
  }
  // In hundredths of a second since boot.
  void busy(int of_trial, int of_others, int stolen_from_trial = 0,
            int stolen_from_others = 7) const {
    const long ticks = sysconf(_SC_CLK_TCK) / 100;
    put("/proc/stat", fmt::format("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 {} 0 0 9 0 0 0 0 0 0\n"
                                  "cpu1 0 0 0 9 0 0 0 0 0 0\ncpu2 0 {} 0 9 0 0 0 {} 0 0\n"
                                  "cpu3 0 0 0 9 0 0 0 {} 0 0\nintr 1\n",
                                  of_others * ticks, of_trial * ticks, stolen_from_trial * ticks,
                                  stolen_from_others * ticks));
  }
  std::string look(const CalmBounds& bounds, const std::function<void()>& meanwhile = [] {}) {
    Calm calm({2}, bounds, root_);
    calm.begin();
    meanwhile();
    std::string words = calm.end(seconds(1));
    missing_ = calm.missing();
    return words;
  }

  std::vector<std::string> missing_;
};

TEST_F(CalmTest, AMachineThatIdlesIsQuiet) {
  EXPECT_EQ(look({.load = 0.05, .temperature_c = 46, .frequency_khz = 2e6}), "");
  EXPECT_THAT(missing_, IsEmpty());
}

TEST_F(CalmTest, AShortLookSaysNothingGood) {
  Calm calm({2}, {.load = 0.05}, root_);
  calm.begin();
  EXPECT_EQ(calm.end(shortest_look - std::chrono::milliseconds(1)),
            "the machine was watched too briefly to tell whether it is quiet");
  EXPECT_EQ(calm.end(shortest_look), "");
}

TEST_F(CalmTest, LoadOfTheTrialsCpusAndOfTheOthersIsAShareOfTheirTime) {
  EXPECT_EQ(look({.load = 0.05}, [&] { busy(6, 15); }), "CPU 2 is 6 % busy");
  EXPECT_EQ(look({.load = 0.05}, [&] { busy(12, 45); }),
            "CPU 2 is 6 % busy, the other CPUs are 10 % busy");
  EXPECT_EQ(look({.load = 0.001}, [&] { busy(14, 46); }),
            "CPU 2 is 2 % busy, the other CPUs are 0.333 % busy");
}

// In a virtual machine: what runs on its host, nobody in here sees running.
TEST_F(CalmTest, WhatTheHostTakesIsLoad) {
  EXPECT_EQ(look({.load = 0.05}, [&] { busy(0, 0, 7); }),
            "CPU 2 is 0 % busy, and the host takes 7 % more");
  EXPECT_EQ(look({.load = 0.05}, [&] { busy(3, 0, 7 + 3); }),
            "CPU 2 is 3 % busy, and the host takes 3 % more");
  EXPECT_EQ(look({.load = 0.05}, [&] { busy(3, 0, 10, 7 + 30); }),
            "the other CPUs are 0 % busy, and the host takes 10 % more");
  EXPECT_EQ(look({.load = 0.05}, [&] { busy(3 + 2, 0, 10 + 2, 37 + 9); }), "");
}

TEST_F(CalmTest, MemoryTemperatureAndFrequencyAreBounded) {
  EXPECT_EQ(
      look({.load = 0.05},
           [&] { put("/proc/pressure/memory", "some avg10=0 avg60=0 avg300=0 total=90000\n"); }),
      "for 9 % of the time, tasks wait for memory");
  EXPECT_EQ(look({.load = 0.05, .temperature_c = 45}), "45.5 C is above 45");
  EXPECT_EQ(look({.load = 0.05, .frequency_khz = 2.5e6}), "2400000 kHz is below 2500000");
}

TEST_F(CalmTest, WhatIsMissingIsNamedIfItIsBoundedAndBoundsNothing) {
  std::filesystem::remove_all(root_ + "/proc");
  std::filesystem::remove_all(root_ + "/sys/class/thermal");
  std::filesystem::remove_all(root_ + "/sys/devices/system/cpu/cpu2");
  EXPECT_EQ(look({.load = 0.05}), "");
  EXPECT_THAT(missing_, ElementsAre(HasSubstr("load ("), HasSubstr("memory-pressure-ns (")));
  EXPECT_EQ(look({.load = 0.05, .temperature_c = 1, .frequency_khz = 1e9}), "");
  EXPECT_THAT(missing_,
              ElementsAre(HasSubstr("load ("), HasSubstr("memory-pressure-ns ("),
                          HasSubstr("temperature-after-c ("), HasSubstr("frequency-after-khz (")));
}

TEST_F(CalmTest, AFormThatIsNotKnownIsNoQuiet) {
  put("/proc/stat", "cpu0 x\n");
  EXPECT_EQ(look({.load = 0.05}), "");
  EXPECT_THAT(missing_, ElementsAre(HasSubstr("load (")));
}

}  // namespace
}  // namespace stab::machine
