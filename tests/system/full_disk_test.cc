// SPDX-License-Identifier: MIT
// A disk that is full again and again under a real daemon: the experiment pauses, goes on by
// itself, and has each trial once.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

// Until no byte is left.
void fill(const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  const std::string page(4096, 'x');
  while (file << page && file.flush()) {
  }
}

// A process that reads for a user has a file without a name in the state folder. When it ends, its
// pages are free again; on a disk filled before that, one more change would fit.
void wait_for_nameless_files(const std::string& folder) {
  for (int i = 0; i < 500; ++i) {
    std::uintmax_t named = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      struct stat facts{};
      if (lstat(entry.path().c_str(), &facts) == 0)
        named += 512 * static_cast<std::uintmax_t>(facts.st_blocks);
    }
    const fs::space_info disk = fs::space(folder);
    if (disk.capacity - disk.free == named) return;
    usleep(20'000);
  }
}

TEST(FullDisk, PausesAnExperimentThatThenGoesOnAndLosesNothing) {
  Lab lab;
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    GTEST_SKIP() << "mounts of our own are not allowed here";
  fs::create_directory(lab.path("state"));
  ASSERT_EQ(mount("tmpfs", lab.path("state").c_str(), "tmpfs", 0, "size=16m"), 0);
  const int disks = times(2, 20);
  // 20 s a disk, and what is left of them after the last one in no time.
  lab.write("plan.toml",
            "[experiment]\nname = \"full\"\n[[benchmark]]\nname = \"b\"\n"
            "run = [\"/bin/sh\", \"-c\", \"[ -e go ] || sleep 0.2\"]\nrepetitions = " +
                std::to_string(100 * disks) + "\n");
  ASSERT_TRUE(lab.start_daemon());
  const int id = lab.submit("plan.toml");
  ASSERT_TRUE(lab.wait_for(id, "running"));
  for (int disk = 0; disk < disks; ++disk) {
    fill(lab.path("state/filler"));
    ASSERT_TRUE(lab.wait_for(id, "paused")) << disk << ": " << lab.state(id);
    EXPECT_THAT(lab.ctl({"status", std::to_string(id)}).out, HasSubstr("disk is full"));
    fs::remove(lab.path("state/filler"));
    ASSERT_TRUE(lab.wait_for(id, "running")) << disk << ": " << lab.state(id);
  }
  lab.write("go", "");
  ASSERT_TRUE(lab.wait_until_final(id, std::chrono::minutes(10)));
  EXPECT_EQ(lab.state(id), "done");
  const json rows = lab.trials(id);
  ASSERT_EQ(rows.size(), 100U * static_cast<unsigned>(disks));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["position"], i);
    EXPECT_EQ(rows[i]["attempt"], 0);
    EXPECT_EQ(rows[i]["status"], "ok");
  }
  lab.end_daemon(SIGTERM);
  umount2(lab.path("state").c_str(), MNT_DETACH);
}

// The worker of the cancelled experiment still ends when stabd is told to stop. While somebody
// reads, SQLite can't start the log again, which would leave room for the cancellation.
TEST(FullDisk, ACancellationThatCannotBeStoredDoesNotKeepStabdFromStopping) {
  Lab lab;
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    GTEST_SKIP() << "mounts of our own are not allowed here";
  fs::create_directory(lab.path("state"));
  ASSERT_EQ(mount("tmpfs", lab.path("state").c_str(), "tmpfs", 0, "size=16m"), 0);
  lab.write("plan.toml",
            "[experiment]\nname = \"full\"\n[[benchmark]]\nname = \"b\"\n"
            "run = [\"/bin/sh\", \"-c\", \"echo began >began; sleep 1000\"]\n"
            "cleanup = \"echo cleans >cleans; sleep 1000\"\nrepetitions = 1\n");
  ASSERT_TRUE(lab.start_daemon());
  const int id = lab.submit("plan.toml");
  ASSERT_TRUE(wait_for_text(lab.path("began"), "began"));
  const SQLite::Database reader(lab.path("state/stabd.db"), SQLite::OPEN_READONLY);
  SQLite::Statement rows(reader, "SELECT id FROM experiment");
  ASSERT_TRUE(rows.executeStep());
  wait_for_nameless_files(lab.path("state"));
  fill(lab.path("state/filler"));
  ASSERT_EQ(lab.ctl({"cancel", std::to_string(id)}).code, 0);
  EXPECT_TRUE(wait_for_text(lab.path("stabd.log"), "cannot store the state of experiment"));
  EXPECT_TRUE(wait_for_text(lab.path("cleans"), "cleans"));
  const pid_t stabd = lab.daemon();
  kill(stabd, SIGTERM);
  const int code = lab.wait_for_daemon();
  EXPECT_EQ(code, 0);
  if (code == -1000) kill(stabd, SIGKILL);
  umount2(lab.path("state").c_str(), MNT_DETACH);
}

// A folder of a small disk for the cache; false if mounts are not allowed.
bool small_cache(const Lab& lab) {
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return false;
  fs::create_directory(lab.path("cache"));
  return mount("tmpfs", lab.path("cache").c_str(), "tmpfs", 0, "size=40m") == 0;
}

std::string building_plan(const std::string& command) {
  return "[experiment]\nname = \"b\"\n[[benchmark]]\nname = \"b\"\nbuild = \"" + command +
         "\"\nsources = [\"source\"]\nrun = [\"true\", \"${OUT}\"]\nrepetitions = 1\n";
}

TEST(FullDisk, ABuildWithoutRoomIsTheMachinesFailure) {
  Lab lab;
  if (!small_cache(lab)) GTEST_SKIP() << "mounts of our own are not allowed here";
  lab.write("source", "s");
  // One that fits, and another one that fits without it.
  lab.write("first.toml", building_plan("head -c 25M /dev/zero >${OUT}"));
  lab.write("second.toml", building_plan("head -c 26M /dev/zero >${OUT}"));
  lab.write("large.toml", building_plan("head -c 60M /dev/zero >${OUT} || { rm ${OUT}; exit 1; }"));
  lab.write("wrong.toml", building_plan("echo wrong >${OUT}; exit 1"));
  ASSERT_TRUE(lab.start_daemon());
  for (const char* plan : {"first.toml", "second.toml"}) {
    const int id = lab.submit(plan);
    ASSERT_TRUE(lab.wait_until_final(id));
    EXPECT_EQ(lab.state(id), "done") << plan;
    ASSERT_EQ(lab.trials(id).size(), 1U);
    EXPECT_EQ(lab.trials(id)[0]["status"], "ok") << lab.ctl({"logs", std::to_string(id)}).out;
  }
  const int large = lab.submit("large.toml");
  ASSERT_TRUE(lab.wait_until_final(large));
  EXPECT_EQ(lab.state(large), "failed");
  EXPECT_THAT(lab.ctl({"status", std::to_string(large)}).out,
              HasSubstr("the machine has no room for builds"));
  // What it left is gone, and a build that is wrong is the program's failure as ever.
  const int wrong = lab.submit("wrong.toml");
  ASSERT_TRUE(lab.wait_until_final(wrong));
  EXPECT_EQ(lab.state(wrong), "done");
  lab.end_daemon(SIGTERM);
  umount2(lab.path("cache").c_str(), MNT_DETACH);
}

TEST(FullDisk, WithoutASettingTheCacheHasATenthOfIt) {
  Lab lab;
  if (!small_cache(lab)) GTEST_SKIP() << "mounts of our own are not allowed here";
  lab.write("source", "s");
  ASSERT_TRUE(lab.start_daemon());
  std::string logs;
  for (const char* size : {"1900000", "1910000", "1920000"}) {
    lab.write("plan.toml", building_plan(std::string("head -c ") + size + " /dev/zero >${OUT}"));
    const int id = lab.submit("plan.toml");
    ASSERT_TRUE(lab.wait_until_final(id));
    EXPECT_EQ(lab.state(id), "done");
    EXPECT_THAT(logs, ::testing::Not(HasSubstr("removed from the cache")));
    logs = lab.ctl({"logs", std::to_string(id)}).out;
  }
  EXPECT_THAT(logs, HasSubstr("removed from the cache"));
  lab.end_daemon(SIGTERM);
  umount2(lab.path("cache").c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace stab::test
