// SPDX-License-Identifier: MIT
#include "machine/trial_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <thread>

#include "base/fd.h"

namespace stab::machine {
namespace {

constexpr std::size_t most_text = std::size_t{4} << 20;
// Killed processes end much sooner than this, unless a tracer holds them.
constexpr std::chrono::milliseconds emptying{2000};
constexpr std::uint64_t tasks_of_process = 64;
constexpr std::uint64_t fewest_tasks = 1024;

std::string text_of(const std::string& file) {
  return read_file(file, most_text).value_or("");
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The number that follows `word` at the beginning of a line, or 0.
std::uint64_t number_behind(const std::string& text, std::string_view word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(word) && line.size() > word.size() && line[word.size()] == ' ')
      return number_in(std::string_view(line).substr(word.size() + 1));
  return 0;
}

Result<void> put_into(const std::string& file, const std::string& value) {
  const Fd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return fail_errno(fmt::format("{} does not accept {}", file, value));
  return {};
}

bool has_word(const std::string& list, std::string_view word, char separator) {
  std::istringstream words(list);
  for (std::string each; std::getline(words, each, separator);)
    if (each == word) return true;
  return false;
}

// The path of our own cgroup in the hierarchy of a controller; "" is the hierarchy of version 2.
// Here and below, `root` comes before the path of every file.
std::optional<std::string> own_group(std::string_view controller, const std::string& root = "") {
  std::istringstream lines(text_of(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool found =
        controller.empty() ? controllers.empty() : has_word(controllers, controller, ',');
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

struct GroupMount {
  std::string root;  // the group that is mounted at `folder`
  std::string folder;
};

std::optional<GroupMount> mount_of(std::string_view controller, const std::string& root = "") {
  std::istringstream lines(text_of(root + "/proc/self/mountinfo"));
  for (std::string line; std::getline(lines, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash));
    std::istringstream back(line.substr(dash + 3));
    std::string skipped;
    GroupMount mount;
    std::string type;
    std::string options;
    front >> skipped >> skipped >> skipped >> mount.root >> mount.folder;
    back >> type >> skipped >> options;
    if (controller.empty() ? type == "cgroup2"
                           : type == "cgroup" && has_word(options, controller, ','))
      return mount;
  }
  return std::nullopt;
}

// The folder of our own cgroup in version 1. New groups are created inside it, so that our own
// limits apply to them, too.
std::optional<std::string> folder_of_own(std::string_view controller,
                                         const std::string& root = "") {
  const auto mount = mount_of(controller, root);
  const auto own = own_group(controller, root);
  if (!mount || !own) return std::nullopt;
  if (mount->root != "/" && !own->starts_with(mount->root)) return mount->folder;
  const std::string below = mount->root == "/" ? *own : own->substr(mount->root.size());
  return below == "/" ? mount->folder : mount->folder + below;
}

struct Parents {
  bool second = false;
  std::vector<std::string> folders;
};

// The fewest processes and threads that a cgroup allows in which new groups are created (see
// parents()): in version 1, our own cgroup and those above it; in version 2, the one at the top.
std::uint64_t tasks_of_parents(const std::string& root) {
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  const auto note = [&](const std::string& folder) {
    // 0: the limit is "max", or this group has no such file.
    const std::uint64_t limit = number_in(text_of(root + folder + "/pids.max"));
    if (limit != 0) fewest = std::min(fewest, limit);
  };
  const auto mount = mount_of("pids", root);
  if (auto folder = folder_of_own("pids", root); mount && folder)
    for (;; folder->resize(folder->rfind('/'))) {
      note(*folder);
      if (folder->size() <= mount->folder.size()) break;
    }
  if (const auto second = mount_of("", root)) note(second->folder);
  return fewest;
}

// In version 2, a group that has processes can't delegate its controllers, so new groups are
// created at the top.
std::optional<Parents> parents() {
  const auto memory = folder_of_own("memory");
  const auto pids = folder_of_own("pids");
  if (memory && pids)
    return Parents{.folders =
                       *memory == *pids ? std::vector{*memory} : std::vector{*memory, *pids}};
  const auto second = mount_of("");
  if (!second) return std::nullopt;
  std::string on = text_of(second->folder + "/cgroup.subtree_control");
  std::ranges::replace(on, '\n', ' ');
  if (!has_word(on, "memory", ' ') || !has_word(on, "pids", ' ')) return std::nullopt;
  return Parents{.second = true, .folders = {second->folder}};
}

// Kills the group's processes until it can be removed, because new ones may start meanwhile.
// Returns whether it has been removed.
bool remove_group(const std::string& folder) {
  const auto end = std::chrono::steady_clock::now() + emptying;
  for (;;) {
    if (rmdir(folder.c_str()) == 0 || errno == ENOENT) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::istringstream processes(text_of(folder + "/cgroup.procs"));
    // The file shows 0 for a process of another pid namespace, and kill(0, ...) would kill
    // ourselves.
    for (pid_t process = 0; processes >> process;)
      if (process > 0) kill(process, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string name_of_owner(const std::string& owner) {
  return fmt::format("{}{}-", group_prefix, owner);
}

}  // namespace

std::uint64_t most_tasks(const std::string& root) {
  const std::uint64_t of_machine =
      std::min(number_in(text_of(root + "/proc/sys/kernel/pid_max")),
               number_in(text_of(root + "/proc/sys/kernel/threads-max")));
  // Otherwise a trial could use up the tasks that we share with it, so that we could not start any
  // process. And the kernel would refuse the trial's processes before its group reaches its limit.
  const std::uint64_t of_groups = tasks_of_parents(root) / 4 * 3;
  return std::max<std::uint64_t>(
      1, std::min(of_groups, std::clamp<std::uint64_t>(of_machine / 4, fewest_tasks, 16384)));
}

std::uint64_t most_tasks() {
  static const std::uint64_t most = most_tasks("");
  return most;
}

Result<std::unique_ptr<TrialGroup>> TrialGroup::make(const std::string& owner) {
  if (geteuid() != 0) return fail("only root's daemon makes cgroups");
  const auto where = parents();
  if (!where)
    return fail(
        "the kernel's memory and pids controllers must both be in use, but at least one is not");
  static unsigned made = 0;
  const std::string name = fmt::format("{}{}-{}", name_of_owner(owner), getpid(), made++);
  std::unique_ptr<TrialGroup> group(new TrialGroup(where->second));
  for (const std::string& folder : where->folders) {
    const std::string own = folder + "/" + name;
    if (mkdir(own.c_str(), 0755) != 0) return fail_errno("cannot make the cgroup " + own);
    group->folders_.push_back(own);
  }
  const auto open_count = [](const std::string& file) {
    return Fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  };
  const char* const memory = where->second ? "/memory.events" : "/memory.failcnt";
  group->reached_memory_ = open_count(group->folders_.front() + memory);
  group->reached_tasks_ = open_count(group->folders_.back() + "/pids.events");
  if (!group->reached_memory_ || !group->reached_tasks_)
    return fail_errno("cannot read how often a cgroup reached its limit of memory or of processes");
  if (auto bounded = group->bound(0, 0); !bounded) return std::unexpected(bounded.error());
  return group;
}

TrialGroup::~TrialGroup() {
  for (const std::string& folder : folders_) remove_group(folder);
}

std::vector<std::string> TrialGroup::doors() const {
  std::vector<std::string> files;
  for (const std::string& folder : folders_) files.push_back(folder + "/cgroup.procs");
  return files;
}

// How often the kernel has refused memory, or a new task.
std::uint64_t TrialGroup::refused(bool memory) const {
  std::array<char, 1024> buffer;
  const ssize_t size =
      pread((memory ? reached_memory_ : reached_tasks_).get(), buffer.data(), buffer.size(), 0);
  const std::string text(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return memory && !second_ ? number_in(text) : number_behind(text, "max");
}

Result<void> TrialGroup::bound(std::uint64_t memory, std::uint32_t processes) {
  const std::string& folder = folders_.front();
  if (memory != 0 || memory_ != 0 || tasks_ == 0) {
    const std::string used = second_ ? "/memory.current" : "/memory.usage_in_bytes";
    const std::string limit = second_ ? "/memory.max" : "/memory.limit_in_bytes";
    const std::string none = second_ ? "max" : "-1";
    const std::uint64_t all = number_in(text_of(folder + used)) + memory;
    if (auto put = put_into(folder + limit, memory == 0 ? none : std::to_string(all)); !put)
      return put;
  }
  const std::uint64_t tasks =
      processes == 0 ? most_tasks()
                     : std::min(most_tasks(), std::max(fewest_tasks, tasks_of_process * processes));
  if (tasks != tasks_)
    if (auto put = put_into(folders_.back() + "/pids.max", std::to_string(tasks)); !put) return put;
  memory_ = memory;
  tasks_ = tasks;
  refused_memory_ = refused(true);
  refused_tasks_ = refused(false);
  return {};
}

std::string TrialGroup::reached() const {
  if (memory_ != 0 && refused(true) != refused_memory_)
    return "reached the kernel's limit for memory and file cache: raise memory_limit";
  if (refused(false) != refused_tasks_)
    return fmt::format("had {} processes and threads, and the kernel refused to start more",
                       tasks_);
  return "";
}

unsigned remove_left_groups(const std::string& owner) {
  unsigned removed = 0;
  const auto where = parents();
  if (!where || geteuid() != 0) return 0;
  for (const std::string& folder : where->folders) {
    std::vector<std::string> left;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().filename().string().starts_with(name_of_owner(owner)))
        left.push_back(entry->path());
    for (const std::string& each : left)
      if (remove_group(each)) ++removed;
  }
  return removed;
}

bool is_in_group() {
  const auto first = own_group("memory");
  const auto own = first ? first : own_group("");
  return own && own->substr(own->rfind('/') + 1).starts_with(group_prefix);
}

std::uint64_t shared_memory_of_group() {
  static const std::string file = []() -> std::string {
    if (!is_in_group()) return "";
    if (const auto folder = folder_of_own("memory")) return *folder + "/memory.stat";
    const auto mount = mount_of("");
    const auto own = own_group("");
    return mount && own ? mount->folder + *own + "/memory.stat" : "";
  }();
  return file.empty() ? 0 : number_behind(text_of(file), "shmem");
}

}  // namespace stab::machine
