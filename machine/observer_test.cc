// SPDX-License-Identifier: MIT
#include "machine/observer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "machine/quiet/tree_testing.h"

namespace stab::machine {
namespace {

using counters::Reading;
using counters::Status;
using testing::HasSubstr;

std::string stat_of(const std::vector<std::string>& rows) {
  std::string text = "cpu  1 2 3 4 5 6 7 8 9 10\n";
  for (const std::string& row : rows) text += row + "\n";
  return text + "intr 5 0 0\nctxt 7\n";
}

// A machine of four CPUs, trials on 2, whose files are those of tree_testing.h and these.
class ObserverTest : public Tree {
 protected:
  ObserverTest() {
    put("/proc/stat", stat_of({"cpu0 10 0 5 900 1 0 0 1 0 0", "cpu1 0 0 0 900 0 0 0 0 0 0",
                               "cpu2 50 1 2 100 0 1 1 3 0 0", "cpu3 0 0 0 900 0 0 0 9 0 0"}));
    put("/proc/interrupts", interrupts(100));
    put("/proc/softirqs", "       CPU0 CPU1 CPU2 CPU3\n  HI: 1 2 3 4\n TIMER: 10 20 30 40\n");
    put("/proc/pressure/memory", pressure(1000));
    put(cpu2 + "/cpufreq/scaling_cur_freq", "2400000\n");
    put(cpu2 + "/thermal_throttle/core_throttle_count", "3\n");
    put("/sys/class/thermal/thermal_zone0/type", "acpitz\n");
    put("/sys/class/thermal/thermal_zone0/temp", "20000\n");
    put("/sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
    put("/sys/class/thermal/thermal_zone1/temp", "45500\n");
    put(clock_file, "tsc\n");
  }

  static std::string interrupts(int on_cpu2) {
    return fmt::format(
        "            CPU0       CPU1       CPU2       CPU3       \n"
        "  1:          1          2          {}          4  IR-IO-APIC    1-edge      i8042\n"
        "LOC:         10         20         30         40   Local timer interrupts\n"
        "ERR:          7\nMIS:          8\n",
        on_cpu2);
  }
  static std::string pressure(int us) {
    return fmt::format(
        "some avg10=0.00 avg60=1.20 avg300=0.00 total={}\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
        us);
  }

  std::map<std::string, Reading> observe(const std::function<void()>& trial = [] {}) {
    Observer observer(cpus_.trial, root_);
    observer.before();
    trial();
    std::vector<Reading> readings;
    observer.after(readings);
    std::map<std::string, Reading> found;
    for (const Reading& reading : readings) found[reading.name] = reading;
    EXPECT_EQ(found.size(), sources().size());
    return found;
  }
  // "" if it is not absent.
  std::string reason(const std::string& name) {
    const Reading reading = observe()[name];
    return reading.status == Status::absent ? reading.reason : "";
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root_ + path); }

  const std::string cpu2 = "/sys/devices/system/cpu/cpu2";
  const std::string clock_file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
};

TEST_F(ObserverTest, TakesWhatHappenedMeanwhileOfTheTrialsCpus) {
  const std::int64_t tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  auto found = observe([&] {
    put("/proc/stat", stat_of({"cpu0 15 1 7 950 9 2 3 1 8 8", "cpu1 0 0 0 900 0 0 0 0 0 0",
                               "cpu2 99 1 2 100 0 1 1 5 0 0", "cpu3 0 0 1 900 0 0 0 9 0 0"}));
    put("/proc/interrupts", interrupts(142));
    put("/proc/softirqs", "       CPU0 CPU1 CPU2 CPU3\n  HI: 9 9 4 9\n TIMER: 99 99 32 99\n");
    put("/proc/pressure/memory", pressure(1007));
    put(cpu2 + "/cpufreq/scaling_cur_freq", "1200000\n");
    put(cpu2 + "/thermal_throttle/core_throttle_count", "5\n");
    put("/sys/class/thermal/thermal_zone1/temp", "-250\n");
    put(clock_file, "hpet\n");
  });
  using counters::counted;
  EXPECT_EQ(found["steal-ns"], counted("steal-ns", "ns", 2 * tick));
  EXPECT_EQ(found["other-cpus-busy-ns"],
            counted("other-cpus-busy-ns", "ns", (5 + 1 + 2 + 2 + 3 + 1) * tick));
  EXPECT_EQ(found["interrupts"], counted("interrupts", "", 42));
  EXPECT_EQ(found["softirqs"], counted("softirqs", "", 3));
  EXPECT_EQ(found["memory-pressure-ns"], counted("memory-pressure-ns", "ns", 7000));
  EXPECT_EQ(found["throttled"], counted("throttled", "", 2));
  EXPECT_EQ(found["frequency-before-khz"], counted("frequency-before-khz", "kHz", 2'400'000));
  EXPECT_EQ(found["frequency-after-khz"], counted("frequency-after-khz", "kHz", 1'200'000));
  EXPECT_EQ(std::get<double>(found["temperature-before-c"].value), 45.5);
  EXPECT_EQ(std::get<double>(found["temperature-after-c"].value), -0.25);
  EXPECT_EQ(found["clocksource-changes"], counted("clocksource-changes", "", 1));
}

TEST_F(ObserverTest, WhereNothingHappensThereIsAZeroForEachSourceThatIsThere) {
  for (auto& [name, reading] : observe()) {
    EXPECT_EQ(reading.status, Status::counted) << name << " " << reading.reason;
    const bool is_state = name.contains("before") || name.contains("after");
    if (!is_state) {
      EXPECT_EQ(reading.value, counters::Number(0)) << name;
    }
  }
}

TEST_F(ObserverTest, AnEmptyMachineHasNoReadingAndAReasonForEach) {
  for (const char* folder : {"/proc", "/sys"}) remove(folder);
  for (auto& [name, reading] : observe()) {
    EXPECT_EQ(reading.status, Status::absent) << name;
    EXPECT_NE(reading.reason, "") << name;
  }
}

TEST_F(ObserverTest, WithoutALookBeforeAllAreAbsent) {
  std::vector<Reading> readings;
  Observer(cpus_.trial, root_).after(readings);
  ASSERT_EQ(readings.size(), sources().size());
  for (const Reading& reading : readings)
    EXPECT_THAT(reading.reason, HasSubstr("no value was read before")) << reading.name;
}

TEST_F(ObserverTest, AVirtualMachineSaysWhatItLacks) {
  remove(cpu2 + "/cpufreq");
  remove(cpu2 + "/thermal_throttle");
  remove("/sys/class/thermal");
  remove("/proc/pressure");
  EXPECT_THAT(reason("frequency-before-khz"), HasSubstr("no cpufreq"));
  EXPECT_THAT(reason("frequency-after-khz"), HasSubstr("no cpufreq"));
  EXPECT_THAT(reason("throttled"), HasSubstr("does not count"));
  EXPECT_THAT(reason("temperature-before-c"), HasSubstr("no CPU sensor"));
  EXPECT_THAT(reason("memory-pressure-ns"), HasSubstr("psi=1"));
  EXPECT_EQ(reason("interrupts"), "");
}

// A hybrid machine's cores differ, and not all CPUs of a trial need have a sensor.
TEST_F(ObserverTest, OfSeveralCpusTheLowestFrequencyCountsAndOneThatIsSilentMakesItAbsent) {
  cpus_.trial = {1, 2};
  put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "900000\n");
  EXPECT_EQ(observe()["frequency-before-khz"].value, counters::Number(900'000));
  EXPECT_THAT(reason("throttled"), HasSubstr("does not count"));
  cpus_.trial = {0, 2};
  EXPECT_THAT(reason("frequency-before-khz"), HasSubstr("no cpufreq"));
}

TEST_F(ObserverTest, TheSensorOfTheCpuMayBeOneOfHwmon) {
  remove("/sys/class/thermal");
  put("/sys/class/hwmon/hwmon0/name", "nvme\n");
  put("/sys/class/hwmon/hwmon0/temp1_input", "30000\n");
  put("/sys/class/hwmon/hwmon3/name", "k10temp\n");
  put("/sys/class/hwmon/hwmon3/temp1_input", "61125\n");
  EXPECT_EQ(std::get<double>(observe()["temperature-before-c"].value), 61.125);
}

TEST_F(ObserverTest, WhatHasAnotherFormIsAbsentAndNoZero) {
  const std::map<std::string, std::vector<std::pair<std::string, std::string>>> strange{
      {"steal-ns",
       {{"/proc/stat", ""},
        {"/proc/stat", "cpu 1\n"},
        {"/proc/stat", stat_of({"cpu2 1 2 3 4 5 6 7"})},
        {"/proc/stat", stat_of({"cpu2 1 2 3 4 5 6 7 x"})},
        {"/proc/stat", stat_of({"cpu2 1 2 3 4 5 6 7 -8"})},
        {"/proc/stat", stat_of({"cpuX 1 2 3 4 5 6 7 8"})},
        {"/proc/stat", stat_of({"cpu3 1 2 3 4 5 6 7 8"})}}},
      {"other-cpus-busy-ns", {{"/proc/stat", stat_of({"cpu2 1 2 3 4 5 6 7 8"})}}},
      {"interrupts",
       {{"/proc/interrupts", ""},
        {"/proc/interrupts", "CPU0 CPU1\n1: 1 2 x\n"},
        {"/proc/interrupts", "CPU0 CPU1 CPU2\n"},
        {"/proc/interrupts", "CPU0 CPU1 CPU2\n1: 1 2\n"},
        {"/proc/interrupts", "CPU0 CPU1 CPU2\n1: 1 2 three\n"},
        {"/proc/interrupts", "CPU0 CPU1 CPU2\n1 1 2 3\n"},
        {"/proc/interrupts", "CPU0 CPU1 CPU2\nERR: 3\n"},
        {"/proc/interrupts", "CPU0 node1 CPU2\n1: 1 2 3\n"},
        {"/proc/interrupts", "CPU0 CPU1 CPU2\n1: 1 2 99999999999999999999\n"}}},
      {"memory-pressure-ns",
       {{"/proc/pressure/memory", "\n"},
        {"/proc/pressure/memory", "full total=1\n"},
        {"/proc/pressure/memory", "some avg10=0.00\n"},
        {"/proc/pressure/memory", "some total=\n"},
        {"/proc/pressure/memory", "some total=-5\n"},
        {"/proc/pressure/memory", "some total=9223372036854775807\n"}}},
      {"throttled", {{cpu2 + "/thermal_throttle/core_throttle_count", "many\n"}}},
      {"frequency-before-khz",
       {{cpu2 + "/cpufreq/scaling_cur_freq", "<unknown>\n"},
        {cpu2 + "/cpufreq/scaling_cur_freq", ""},
        {cpu2 + "/cpufreq/scaling_cur_freq", "12 MHz\n"}}},
      {"temperature-before-c", {{"/sys/class/thermal/thermal_zone1/temp", "45.5\n"}}},
      {"clocksource-changes", {{clock_file, "\n"}}}};
  for (const auto& [name, files] : strange)
    for (const auto& [file, text] : files) {
      std::ostringstream kept;
      kept << std::ifstream(root_ + file).rdbuf();
      put(file, text);
      EXPECT_NE(reason(name), "") << name << ": " << text;
      put(file, kept.str());
      EXPECT_EQ(reason(name), "") << name;
    }
}

TEST_F(ObserverTest, WhatGoesBackwardsOrIsGoneAfterwardsIsAbsent) {
  auto found = observe([&] {
    put("/proc/interrupts", interrupts(99));
    put("/proc/pressure/memory", "");
  });
  EXPECT_THAT(found["interrupts"].reason, HasSubstr("backwards"));
  EXPECT_EQ(found["memory-pressure-ns"].status, Status::absent);
}

// Of CPUs that are offline there is no column, and the numbers of the others stay.
TEST(KernelText, AColumnIsFoundByItsName) {
  const std::string table =
      "     CPU0  CPU2  CPU5\n 0:  1  10  100  IO-APIC 2-edge 7\nNMI: 2 20 200 x\n";
  EXPECT_EQ(sum_of_columns(table, {2}), 30);
  EXPECT_EQ(sum_of_columns(table, {0, 5}), 303);
  EXPECT_FALSE(sum_of_columns(table, {1}));
  EXPECT_FALSE(sum_of_columns(table, {2, 7}));
}

TEST(KernelText, ATableOfManyCpusIsRead) {
  std::string header;
  std::string row = "LOC:";
  for (int cpu = 0; cpu < 512; ++cpu) {
    header += fmt::format(" CPU{}", cpu);
    row += fmt::format(" {}", cpu);
  }
  EXPECT_EQ(sum_of_columns(header + "\n" + row + " Local timer\n", {17, 511}), 528);
}

TEST_F(ObserverTest, AFileThatIsVeryLongIsNotRead) {
  put("/proc/interrupts", interrupts(1) + std::string(300 << 10, ' '));
  EXPECT_THAT(reason("interrupts"), HasSubstr("too long"));
}

// Whatever this machine is: what it shows is read, and nothing is absent without a reason.
TEST(ThisMachine, HasAReadingOrAReasonForEachSource) {
  const auto topology = Topology::load();
  ASSERT_TRUE(topology);
  Observer observer({topology->allowed().front()});
  std::vector<Reading> readings;
  for (int trial = 0; trial < 3; ++trial) {
    observer.before();
    observer.after(readings);
  }
  EXPECT_EQ(readings.size(), 3 * sources().size());
  for (const Reading& reading : readings)
    EXPECT_EQ(reading.status == Status::absent, !reading.reason.empty()) << reading.name;
  EXPECT_GT(std::ranges::count(readings, Status::counted, &Reading::status), 0);
}

TEST(Document, HasARowForEachSource) {
  std::ostringstream text;
  text << std::ifstream(STAB_SOURCE_DIR "/doc/store.md").rdbuf();
  for (const Source& each : sources()) {
    const std::string row =
        fmt::format("| `{}` | `{}` | {} |", each.reading, each.file, each.meaning);
    EXPECT_TRUE(text.str().contains(row)) << "WANTED " << row;
  }
}

}  // namespace
}  // namespace stab::machine
