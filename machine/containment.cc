// SPDX-License-Identifier: MIT

#include "machine/containment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <pwd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "machine/user_limits.h"

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

namespace {

constexpr int passed_descriptor = 3;
constexpr int first_free = 10;

// Like fork(), but with flags for clone3. The child has one thread and a copy of our memory.
pid_t fork_with(std::uint64_t flags, int& pidfd) {
  clone_args arguments{};
  arguments.flags = flags | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
}

std::uint64_t namespace_flags() {
  const std::uint64_t flags = CLONE_NEWPID | CLONE_NEWNS;
  return geteuid() == 0 ? flags : flags | CLONE_NEWUSER;
}

// Maps our ids to themselves in a new user namespace.
bool map_ids(uid_t uid, gid_t gid) {
  const auto write_to = [](const char* path, const std::string& text) {
    const Fd fd(open(path, O_WRONLY | O_CLOEXEC));
    return fd && write_all(fd.get(), text).has_value();
  };
  return write_to("/proc/self/setgroups", "deny") &&
         write_to("/proc/self/uid_map", fmt::format("{0} {0} 1", uid)) &&
         write_to("/proc/self/gid_map", fmt::format("{0} {0} 1", gid));
}

// /proc must show this namespace, because programs look themselves up by the pid that they see.
bool mount_proc() {
  return mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
         mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
}

bool enter_namespace(uid_t uid, gid_t gid) {
  if (uid != 0 && !map_ids(uid, gid)) return false;
  return mount_proc();
}

// A new network namespace has a loopback device, which a program may need to connect to itself. It
// starts disabled.
bool raise_loopback() {
  const Fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  if (!any || ioctl(any.get(), SIOCGIFFLAGS, &request) != 0) return false;
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  return ioctl(any.get(), SIOCSIFFLAGS, &request) == 0;
}

// The groups of the user; empty if the machine does not know the user.
std::vector<gid_t> groups_of(uid_t uid, gid_t gid) {
  const passwd* user = getpwuid(uid);
  if (user == nullptr) return {};
  std::vector<gid_t> groups(64);
  auto count = static_cast<int>(groups.size());
  while (getgrouplist(user->pw_name, gid, groups.data(), &count) < 0)
    groups.resize(static_cast<std::size_t>(count));
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

// Makes system calls directly: libc's functions would wait for the threads that our memory lists
// but that this copy does not have.
bool take_rights(std::uint32_t uid, std::uint32_t gid) {
  // -1 would mean "do not change".
  if (uid == ~0U || gid == ~0U) return false;
  if (geteuid() != 0) return uid == geteuid();
  const std::vector<gid_t> groups = groups_of(uid, gid);
  const auto become = [](uid_t user) { return syscall(SYS_setresuid, user, user, user) == 0; };
  if (syscall(SYS_setgroups, groups.size(), groups.data()) != 0)
    // Root may lack the capability for setgroups(), as in some containers. Then it must not have
    // any groups to give up.
    return uid == 0 && getgroups(0, nullptr) == 0 && become(0);
  return syscall(SYS_setresgid, gid, gid, gid) == 0 && become(uid);
}

// Must be called while the process still has its capabilities. For a process without them it has no
// effect, but there no_new_privs is enough.
void empty_bounding_set() {
  for (unsigned long capability = 0; capability < 64; ++capability)
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

// Drops all capabilities. A later exec can't restore them.
bool give_up_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const std::array<__user_cap_data_struct, 2> none{};
  return syscall(SYS_capset, &header, none.data()) == 0 &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// Closes all of our descriptors except for the passed one and `ready`, and redirects the standard
// streams. Returns the new number of `ready`.
int keep_only(const ContainedStart& start, int ready) {
  ready = fcntl(ready, F_DUPFD_CLOEXEC, first_free);
  // If the streams were closed, other descriptors would get their numbers; if they stayed open, the
  // program would have ours. So they become /dev/null.
  const int nowhere = fcntl(open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, first_free);
  if (ready < 0 || nowhere < 0) _exit(126);
  const int output = start.output_fd >= 0 ? start.output_fd : nowhere;
  if (dup2(start.input_fd >= 0 ? start.input_fd : nowhere, STDIN_FILENO) < 0 ||
      dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
    _exit(126);
  const int fd = start.passed_fd;
  if (fd >= 0 && fd != passed_descriptor) dup2(fd, passed_descriptor);
  if (fd == passed_descriptor) fcntl(fd, F_SETFD, 0);
  const auto close_all = [](int first, unsigned last) {
    syscall(SYS_close_range, first, last, 0U);
  };
  close_all(fd >= 0 ? passed_descriptor + 1 : passed_descriptor, static_cast<unsigned>(ready) - 1);
  close_all(ready + 1, ~0U);
  return ready;
}

// Replaces the session keyring, because the keys of our session belong to whoever started us. If
// the kernel does not support keys, or a seccomp filter blocks them, the process can't use any
// keys, either.
bool leave_session_keyring() {
  // The kernel frees the keyrings of ended processes with a delay. Until then they count towards
  // the user's quota of keys, which a few hundred short trials can fill.
  constexpr int most_tries = 2000;
  constexpr timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
  for (int tries = 0; tries < most_tries; ++tries) {
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0) return true;
    if (errno != EDQUOT) return errno == ENOSYS || errno == EPERM;
    nanosleep(&pause, nullptr);
  }
  return false;
}

// From here on this process dies with its parent and holds none of the parent's locks. If the
// parent has already died, nobody reads the pipe and the write fails.
void report_ready(int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (write(ready, "", 1) != 1) _exit(126);
  close(ready);
}

[[noreturn]] void run_child(const ContainedStart& start, uid_t own_uid, gid_t own_gid, int ready) {
  const auto give_up = [&](const char* what) {
    const std::string why =
        fmt::format("{}: {}: {}\n", fmt::join(start.argv, " "), what, std::strerror(errno));
    const auto ignored = write_all(STDERR_FILENO, why);
    static_cast<void>(ignored);
    _exit(126);
  };
  reset_signals();
  report_ready(keep_only(start, ready));
  umask(022);
  // Signals from our terminal must not end it.
  if (start.own_session)
    setsid();
  else
    setpgid(0, 0);
  // This must happen while we are still root and see the machine's files.
  for (const std::string& door : start.doors) {
    const Fd file(open(door.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file || !write_all(file.get(), "0")) give_up("cannot enter its cgroup");
  }
  std::vector<std::string> variables = start.environment;
  std::vector<ResourceLimit> own_limits;
  if (!start.limits_by.empty() && own_uid == 0) {
    const UserLimits limits = ask_pam_by(start.limits_by, start.uid);
    if (!allow(limits.set)) give_up("cannot set the user's limits");
    if (!start.limited) variables.push_back(limits_variable(limits));
    errno = EPERM;
    if (start.limited && !limits.refused.empty()) give_up(limits.refused.c_str());
    if (start.limited) own_limits = limits.set;
  }
  if (start.containment == Containment::pid_namespace && !enter_namespace(own_uid, own_gid))
    give_up("cannot set up its namespaces");
  if (start.containment == Containment::pid_namespace) take_own_shared_memory();
  if (!start.network && !raise_loopback()) give_up("cannot bring up the loopback device");
  if (!start.privileged) empty_bounding_set();
  if (!take_rights(start.uid, start.gid))
    give_up("cannot switch to the submitter's user and groups");
  // This comes after the change of rights, so that the new keyring belongs to the user.
  if (!leave_session_keyring()) give_up("cannot get its own session keyring");
  if (!start.privileged && !give_up_capabilities()) give_up("cannot drop its capabilities");
  // This is repeated because the change of rights has cleared it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);

  std::vector<char*> argv;
  for (const std::string& word : start.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (const std::string& entry : variables)
    environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(nullptr);
  // The limits come last, because the steps above may need more than the user's limits.
  if (!take(own_limits)) give_up("cannot set the user's limits");
  execve(argv[0], argv.data(), environment.data());
  give_up("cannot be executed");
  _exit(126);
}

}  // namespace

Containment best_containment() {
  int pidfd = -1;
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  const pid_t child = fork_with(namespace_flags(), pidfd);
  if (child == 0) _exit(enter_namespace(uid, gid) ? 0 : 1);
  if (child < 0) return Containment::process_tree;
  const Fd owned(pidfd);
  int status = 0;
  waitpid(child, &status, 0);
  const bool allowed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return allowed ? Containment::pid_namespace : Containment::process_tree;
}

std::string words_about_rights(std::uint32_t uid, bool privileged) {
  if (uid != 0) return "";
  if (privileged) return "builds and trials run with root's rights";
  return "builds and trials run as root without capabilities, but they can change root's files and "
         "the machine's settings: to prevent that, run the plan as another user";
}

bool give_up_privileges() {
  empty_bounding_set();
  return give_up_capabilities();
}

Result<Contained> start_contained(const ContainedStart& start) {
  int pidfd = -1;
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  const bool isolated = start.containment == Containment::pid_namespace;
  if (!start.network && !isolated)
    return fail(
        "blocking the network needs namespaces, which this machine or the setting "
        "daemon.namespaces does not allow");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  const Fd readable(ends[0]);
  Fd ready(ends[1]);
  const pid_t child = fork_with(
      (isolated ? namespace_flags() : 0) | (start.network ? 0 : std::uint64_t{CLONE_NEWNET}),
      pidfd);
  if (child == 0) run_child(start, uid, gid, ready.get());
  if (child < 0)
    return fail_errno(start.network ? "cannot start a worker process"
                                    : "cannot start a worker process without network access");
  Contained contained{child, Fd(pidfd)};
  ready.reset();
  // Wait some microseconds until the child is ready. If somebody stopped it or lowered its priority
  // before that, it might hold our locks even after we have ended.
  char byte = 0;
  while (read(readable.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  return contained;
}

}  // namespace stab::machine
