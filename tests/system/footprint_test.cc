// SPDX-License-Identifier: MIT
// What the daemon itself takes of the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

#ifdef STAB_SANITIZED
constexpr bool keeps_freed_memory = true;
#else
constexpr bool keeps_freed_memory = false;
#endif

class Footprint : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }

  std::uint64_t status(const std::string& key) const {
    return number_in("/proc/" + std::to_string(lab_.daemon()) + "/status", key);
  }
  // 0 if it is not there.
  static std::uint64_t number_in(const std::string& path, const std::string& key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string word;
      std::uint64_t number = 0;
      if (words >> word >> number && word == key + ":") return number;
    }
    return 0;
  }

  // Of all its threads.
  std::uint64_t wake_ups() const {
    std::uint64_t count = 0;
    for (const auto& thread :
         fs::directory_iterator("/proc/" + std::to_string(lab_.daemon()) + "/task"))
      count += number_in(thread.path() / "status", "voluntary_ctxt_switches");
    return count;
  }

  Lab lab_;
};

// Their owners may submit and cancel as many as they like: the plans are on the disk then.
TEST_F(Footprint, ManyLargePlansAreListedWithoutBeingHeld) {
  // Where memory says nothing a few are enough.
  constexpr int count = keeps_freed_memory ? 8 : 60;
  std::string plan =
      "[experiment]\nname = \"large\"\n[[benchmark]]\nname = \"b\"\n"
      "run = [\"true\"]\nrepetitions = 1\n";
  while (plan.size() < 1'000'000) plan += "# " + std::string(77, '.') + "\n";
  lab_.write("large.toml", plan);
  const std::uint64_t empty = status("VmHWM");
  ASSERT_EQ(lab_.ctl({"pause", "--queue"}).code, 0);
  for (int i = 1; i <= count; ++i) {
    ASSERT_EQ(lab_.submit("large.toml"), i);
    ASSERT_EQ(lab_.ctl({"cancel", std::to_string(i)}).code, 0);
  }
  const auto expect_all_listed = [this] {
    const json listed = json::parse(lab_.ctl({"list", "--json"}).out);
    ASSERT_EQ(listed.size(), static_cast<std::size_t>(count));
    for (const json& row : listed) {
      EXPECT_EQ(row["state"], "cancelled");
      EXPECT_EQ(row["name"], "large");
      EXPECT_GT(row["bytes"], 1'000'000);
    }
  };
  expect_all_listed();
  // A daemon that begins with them knows them all at its start.
  lab_.end_daemon(SIGTERM);
  ASSERT_TRUE(lab_.start_daemon());
  expect_all_listed();
  const std::uint64_t full = status("VmHWM");
  ASSERT_GT(empty, 0U);
  if (!keeps_freed_memory) EXPECT_LT(full, empty + (30U << 10U)) << "in KiB";
}

// Whoever was there: a daemon with nothing to do sleeps, and wakes up at most for its clock of idle
// clients. What it does at its start may take a while.
TEST_F(Footprint, WithNothingToDoItWakesUpLessThanOnceASecond) {
  lab_.write("plan.toml",
             "[experiment]\nname = \"p\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
             "repetitions = 3\n");
  ASSERT_EQ(lab_.ctl({"submit", "--wait", lab_.path("plan.toml")}).code, 0);
  ASSERT_EQ(lab_.ctl({"list"}).code, 0);
  constexpr std::uint64_t seconds = 5;
  std::uint64_t woken = seconds;
  for (int window = 0; woken >= seconds && window < 12; ++window) {
    const std::uint64_t before = wake_ups();
    ASSERT_GT(before, 0U);
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    woken = wake_ups() - before;
  }
  EXPECT_LT(woken, seconds) << "in " << seconds << " s";
}

}  // namespace
}  // namespace stab::test
