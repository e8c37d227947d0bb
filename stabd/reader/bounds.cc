// SPDX-License-Identifier: MIT
#include "stabd/reader/bounds.h"

#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <span>
#include <vector>

#include "machine/containment.h"

namespace stab::reader {
namespace {

// Sanitizers use terabytes of address space.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool bounds_memory = false;
#else
constexpr bool bounds_memory = true;
#endif

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

void set(int what, std::uint64_t soft, std::uint64_t hard) {
  const rlimit limit{soft, hard};
  setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

// Does nothing under sanitizers, which need many more system calls.
Result<void> allow_only(std::span<const long> calls) {
  if (!bounds_memory) return {};
#if defined(__x86_64__)
  constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
  constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif
  constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> filter{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, refused),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, refused));
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                           .filter = filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return {};
  return fail_errno("cannot restrict system calls");
}

}  // namespace

Bounds bounds_for(std::uint64_t bytes_of_file) {
  return {.memory = 512 * mib,
          .cpu = std::chrono::seconds(60 + bytes_of_file / mib),
          .written = 4 * bytes_of_file + 64 * mib};
}

void keep_within(const Bounds& bounds) {
  if (bounds_memory) set(RLIMIT_AS, bounds.memory, bounds.memory);
  const auto seconds = static_cast<std::uint64_t>(bounds.cpu.count());
  set(RLIMIT_CPU, seconds, seconds + 1);
  signal(SIGXFSZ, SIG_IGN);
  set(RLIMIT_FSIZE, bounds.written, bounds.written);
}

Result<void> only_compute(std::uint32_t uid, std::uint32_t gid) {
  if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setresgid(gid, gid, gid) != 0 ||
                         setresuid(uid, uid, uid) != 0))
    return fail_errno("cannot switch to the user's rights");
  if (!machine::give_up_privileges()) return fail_errno("cannot drop privileges");
  static constexpr auto calls =
      std::to_array<long>({SYS_read,           SYS_write,      SYS_pread64,        SYS_lseek,
                           SYS_ftruncate,      SYS_close,      SYS_mmap,           SYS_munmap,
                           SYS_mremap,         SYS_mprotect,   SYS_madvise,        SYS_brk,
                           SYS_futex,          SYS_getrandom,  SYS_clock_gettime,  SYS_rt_sigreturn,
                           SYS_rt_sigprocmask, SYS_gettid,     SYS_getpid,         SYS_tgkill,
                           SYS_exit,           SYS_exit_group, SYS_restart_syscall});
  return allow_only(calls);
}

}  // namespace stab::reader
