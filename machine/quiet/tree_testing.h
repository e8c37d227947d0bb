// SPDX-License-Identifier: MIT
// A folder with the /proc and /sys of an imagined server that has all knobs, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "machine/topology.h"

namespace stab::machine {

class Tree : public testing::Test {
 protected:
  Tree() {
    std::string name = testing::TempDir() + "stab-machine-XXXXXX";
    root_ = mkdtemp(name.data()) != nullptr ? name : "";
    for (const auto& [file, value] : files()) put(file, value);
    put("/proc/sys/kernel/random/boot_id", "4b1c\n");
  }
  ~Tree() override {
    std::error_code ignored;
    for (const std::string& mounted : read_only_) umount2(mounted.c_str(), MNT_DETACH);
    if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
  }

  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  // The file's first line.
  [[nodiscard]] std::string at(const std::string& path) const {
    std::ifstream file(root_ + path);
    std::string line;
    std::getline(file, line);
    return line;
  }
  // Mounts this folder read-only for this process and its children; returns false if it may not.
  bool make_read_only(const std::string& folder) {
    const std::string path = root_ + folder;
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return false;
    read_only_.push_back(path);
    return mount(nullptr, path.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  [[nodiscard]] std::string log() const { return root_ + "/var/undo"; }

  static std::map<std::string, std::string> files() {
    std::map<std::string, std::string> files{
        {"/proc/sys/kernel/timer_migration", "1\n"},
        {"/proc/sys/kernel/nmi_watchdog", "1\n"},
        {"/proc/sys/kernel/numa_balancing", "0\n"},
        {"/proc/sys/kernel/randomize_va_space", "2\n"},
        {"/proc/sys/vm/swappiness", "60\n"},
        {"/proc/sys/vm/compaction_proactiveness", "20\n"},
        {"/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"},
        {"/sys/devices/system/cpu/smt/control", "on\n"},
        {"/sys/kernel/mm/ksm/run", "1\n"},
        {"/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "1\n"},
    };
    for (const char* cpu : {"0", "1", "2", "3"}) {
      const std::string policy = std::string("/sys/devices/system/cpu/cpufreq/policy") + cpu;
      files[policy + "/scaling_governor"] = "powersave\n";
      files[policy + "/energy_performance_preference"] = "balance_power\n";
      for (const char* state : {"0", "1", "2", "3"})
        files[std::string("/sys/devices/system/cpu/cpu") + cpu + "/cpuidle/state" + state +
              "/disable"] = "0\n";
      files[std::string("/proc/irq/1") + cpu + "/smp_affinity_list"] = "0-3\n";
    }
    return files;
  }

  // Four CPUs; trials run on CPU 2.
  CpuChoice cpus_{.trial = {2}, .others = {0, 1}, .idle = {3}};
  std::string root_;

 private:
  std::vector<std::string> read_only_;
};

}  // namespace stab::machine
