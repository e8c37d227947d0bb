// SPDX-License-Identifier: MIT
// An experiment whose CPUs somebody takes away, as a plan with `other_processes` of another stabd's does. On a cpuset of
// this machine where there are cpusets of cgroup v1 and we may make one; only this test's own daemon is moved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/fd.h"
#include "machine/quiet/knobs.h"
#include "machine/topology.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using ::testing::HasSubstr;

constexpr int trials = 200;

class Confined : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto topology = machine::Topology::load();
    ASSERT_TRUE(topology);
    if (topology->allowed().size() < 2) GTEST_SKIP() << "there is one CPU only";
    const auto choice = topology->choose_cpus(1);
    left_ = std::to_string(choice->others.front());
    const auto mine = read_file("/proc/self/cgroup", 1 << 16);
    if (!mine || !mine->contains(":cpuset:/\n") || !make_folder())
      GTEST_SKIP() << "there is no cpuset of cgroup v1 that may be changed";
  }
  void TearDown() override {
    EXPECT_TRUE(machine::confine(folder_, std::string(machine::everywhere)));
  }
  bool make_folder() const {
    return machine::confine(folder_, left_, [](pid_t) { return false; }).has_value();
  }
  // Whether or not it keeps to those CPUs by itself.
  bool confine_one(pid_t whom) const {
    std::ofstream list(folder_ + "/cgroup.procs");
    list << whom << std::flush;
    return list.good();
  }

  Lab lab_;
  std::string left_;  // the CPU that is left
  std::string folder_ = "/sys/fs/cgroup/cpuset/stabd-test-" + std::to_string(getpid());
};

TEST_F(Confined, AnExperimentGoesOnOnTheCpusThatAreLeft) {
  lab_.write("plan.toml",
             "[experiment]\nname = \"confined\"\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"sleep\", \"0.02\"]\nrepetitions = " +
                 std::to_string(trials) + "\n");
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  ASSERT_TRUE(confine_one(lab_.daemon()));  // before it starts another worker
  ASSERT_TRUE(confine_one(lab_.worker()));
  ASSERT_TRUE(lab_.wait_for(id, "done"));
  const auto rows = lab_.trials(id);
  ASSERT_EQ(rows.size(), std::size_t{trials});
  for (const auto& row : rows) ASSERT_EQ(row["status"], "ok") << row;
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("trials run on CPU " + left_ + "\n"));
}

}  // namespace
}  // namespace stab::test
