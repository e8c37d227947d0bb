// SPDX-License-Identifier: MIT
#include "machine/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace stab::machine {
namespace {

// The source of our mounts in /proc/self/mountinfo. Only a process that may mount could give this
// name to another file system.
constexpr const char* own_source = "stabd-trials";
constexpr const char* shared_files = "/dev/shm";
constexpr const char* queues = "/dev/mqueue";

bool is_mounted(std::string_view type) {
  const auto mounts = read_file("/proc/self/mountinfo", std::size_t{16} << 20);
  return mounts && mounts->contains(fmt::format(" - {} {} ", type, own_source));
}

std::vector<std::string> names_in_folder(int folder) {
  std::vector<std::string> names;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy >= 0 ? fdopendir(copy) : nullptr,
                                                    closedir);
  if (!entries) return names;
  while (const dirent* entry = readdir(entries.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  return names;
}

// Removes a folder. Its subfolders are moved to the top instead of visited recursively, so that any
// depth is possible.
bool lift_what_is_in(int top, const std::string& name, unsigned& lifted) {
  fchmodat(top, name.c_str(), 0700, 0);
  const Fd folder(openat(top, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return false;
  for (const std::string& each : names_in_folder(folder.get())) {
    if (unlinkat(folder.get(), each.c_str(), 0) == 0) continue;
    fchmodat(folder.get(), each.c_str(), 0700, 0);
    int result = -1;
    do {
      const std::string free = fmt::format("lifted-{}", lifted++);
      result = static_cast<int>(
          syscall(SYS_renameat2, folder.get(), each.c_str(), top, free.c_str(), RENAME_NOREPLACE));
    } while (result != 0 && errno == EEXIST);
    if (result != 0) return false;
  }
  return unlinkat(top, name.c_str(), AT_REMOVEDIR) == 0;
}

bool empty_folder(const char* path) {
  const Fd top(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top) return errno == ENOENT;
  unsigned lifted = 0;
  for (;;) {
    const std::vector<std::string> names = names_in_folder(top.get());
    if (names.empty()) return true;
    for (const std::string& name : names)
      if (unlinkat(top.get(), name.c_str(), 0) != 0 && !lift_what_is_in(top.get(), name, lifted))
        return false;
  }
}

// Returns true if the kernel does not support such objects.
bool remove_segments() {
  shm_info info{};
  const int highest = shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&info));
  if (info.used_ids == 0) return true;
  for (int i = 0; i <= highest; ++i) {
    shmid_ds segment{};
    if (const int id = shmctl(i, SHM_STAT_ANY, &segment); id >= 0) shmctl(id, IPC_RMID, nullptr);
  }
  shmctl(0, SHM_INFO, reinterpret_cast<shmid_ds*>(&info));
  return info.used_ids == 0;
}

union SemaphoreArgument {
  int value;
  semid_ds* set;
  seminfo* info;
};

bool remove_semaphores() {
  seminfo info{};
  const int highest = semctl(0, 0, SEM_INFO, SemaphoreArgument{.info = &info});
  if (info.semusz == 0 || highest < 0) return true;
  for (int i = 0; i <= highest; ++i) {
    semid_ds set{};
    if (const int id = semctl(i, 0, SEM_STAT_ANY, SemaphoreArgument{.set = &set}); id >= 0)
      semctl(id, 0, IPC_RMID);
  }
  semctl(0, 0, SEM_INFO, SemaphoreArgument{.info = &info});
  return info.semusz == 0;
}

bool remove_queues() {
  msginfo info{};
  const int highest = msgctl(0, MSG_INFO, reinterpret_cast<msqid_ds*>(&info));
  if (info.msgpool == 0 || highest < 0) return true;
  for (int i = 0; i <= highest; ++i) {
    msqid_ds queue{};
    if (const int id = msgctl(i, MSG_STAT_ANY, &queue); id >= 0) msgctl(id, IPC_RMID, nullptr);
  }
  msgctl(0, MSG_INFO, reinterpret_cast<msqid_ds*>(&info));
  return info.msgpool == 0;
}

}  // namespace

void take_own_shared_memory() {
  if (unshare(CLONE_NEWIPC) != 0) return;
  mount(own_source, shared_files, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  mount(own_source, queues, "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
}

bool has_own_shared_memory() {
  return is_mounted("tmpfs");
}

Result<void> empty_own_shared_memory() {
  static const bool files = is_mounted("tmpfs");
  if (!files) return {};
  static const bool has_queues = is_mounted("mqueue");
  if (!empty_folder(shared_files)) return fail(fmt::format("cannot empty {}", shared_files));
  if (has_queues && !empty_folder(queues)) return fail(fmt::format("cannot empty {}", queues));
  if (!remove_segments() || !remove_semaphores() || !remove_queues())
    return fail("cannot remove System V objects");
  return {};
}

}  // namespace stab::machine
