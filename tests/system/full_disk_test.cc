// SPDX-License-Identifier: MIT
// A disk that is full again and again under a real daemon: the experiment pauses, goes on by
// itself, and has each trial once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
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

}  // namespace
}  // namespace stab::test
