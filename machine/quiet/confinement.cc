// SPDX-License-Identifier: MIT
#include "machine/quiet/confinement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "machine/processes.h"

namespace stab::machine {
namespace {

constexpr std::size_t limit = 1 << 20;
// A process may start others while it is moved.
constexpr int most_rounds = 50;

Result<std::string> line_of(const std::string& path) {
  auto content = read_file(path, limit);
  if (!content) return std::unexpected(content.error());
  return content->substr(0, content->find('\n'));
}

Result<void> put(const std::string& path, const std::string& value) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd || write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return fail_errno(fmt::format("{} does not take {}", path, value));
  return {};
}

std::vector<pid_t> processes_in(const std::string& folder) {
  std::ifstream list(folder + "/cgroup.procs");
  std::vector<pid_t> processes;
  for (pid_t process = 0; list >> process;) processes.push_back(process);
  return processes;
}

std::string name_of(pid_t process) {
  const auto name = line_of(fmt::format("/proc/{}/comm", process));
  return fmt::format("process {} ({})", process, name ? one_line(*name, 20) : "gone");
}

Result<void> move_all(const std::string& from, const std::string& to,
                      const std::function<bool(pid_t)>& whom) {
  std::string stays;
  for (int round = 0; round < most_rounds; ++round) {
    bool any = false;
    for (const pid_t process : processes_in(from)) {
      // The kernel takes 0 for whoever writes it.
      if (process == 0) return fail("there are processes of another pid namespace");
      if (is_of_kernel(process) || !whom(process)) continue;
      any = true;
      // One that ends meanwhile is gone in the next round.
      if (auto moved = put(to + "/cgroup.procs", std::to_string(process)); !moved)
        stays = fmt::format("{} cannot be moved: {}", name_of(process), moved.error().message);
    }
    if (!any) return {};
    if (round > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fail(stays.empty() ? "processes begin faster than they can be moved" : stays);
}

Result<void> let_go(const std::string& folder) {
  std::error_code gone;
  if (!std::filesystem::exists(folder, gone)) return {};
  const std::string above = std::filesystem::path(folder).parent_path();
  if (auto moved = move_all(folder, above, [](pid_t) { return true; }); !moved) return moved;
  // The last ones may be on their way out.
  for (int round = 0; rmdir(folder.c_str()) != 0 && errno != ENOENT; ++round) {
    if (errno != EBUSY || round == most_rounds)
      return fail_errno(fmt::format("cannot remove {}", folder));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

Result<void> hold(const std::string& folder, const std::string& cpus,
                  const std::function<bool(pid_t)>& whom) {
  const std::string above = std::filesystem::path(folder).parent_path();
  const auto memory = line_of(above + "/cpuset.mems");
  if (!memory) return std::unexpected(memory.error());
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
    return fail_errno(fmt::format("cannot make {}", folder));
  if (auto set = put(folder + "/cpuset.mems", *memory); !set) return set;
  if (auto set = put(folder + "/cpuset.cpus", cpus); !set) return set;
  return move_all(above, folder, whom);
}

}  // namespace

Result<std::string> confined_to(const std::string& folder) {
  std::error_code gone;
  if (!std::filesystem::exists(folder, gone)) return std::string(everywhere);
  auto cpus = line_of(folder + "/cpuset.cpus");
  // Nobody can be moved into one without CPUs.
  if (cpus && cpus->empty()) return std::string(everywhere);
  return cpus;
}

bool is_other(pid_t process) {
  const auto ours = descendants();
  return process != getpid() && getsid(process) != getsid(0) &&
         std::ranges::find(ours, process) == ours.end();
}

Result<void> confine(const std::string& folder, const std::string& cpus,
                     const std::function<bool(pid_t)>& whom) {
  if (cpus == everywhere) return let_go(folder);
  auto held = hold(folder, cpus, whom);
  if (!held) (void)let_go(folder);
  return held;
}

}  // namespace stab::machine
