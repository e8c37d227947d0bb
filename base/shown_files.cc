// SPDX-License-Identifier: MIT
#include "base/shown_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"

// [[noreturn]] void stab_hold_alone(ready, forever, code, begin, end): the end of hold(), in a page
// of its own at `code`. It may not use any other memory, because it first unmaps everything except
// for this page and for the addresses from `begin` to `end`. Then it becomes visible to others,
// tells so by a byte to `ready`, and reads `forever`. The numbers are those of x86-64.
asm(".pushsection .text.stab_hold_alone, \"ax\", @progbits\n"
    ".balign 4096\n"
    "stab_hold_alone:\n"
    "mov %rdi, %r12\n"
    "mov %rsi, %r13\n"
    "mov %rdx, %r14\n"
    "mov %rcx, %r15\n"
    "mov %r8, %rbx\n"
    "xor %ebp, %ebp\n"
    "xor %esp, %esp\n"
    "xor %edi, %edi\n"  // munmap(0, code)
    "mov %r14, %rsi\n"
    "mov $11, %eax\n"
    "syscall\n"
    "test %rax, %rax\n"
    "jnz 3f\n"
    "lea 4096(%r14), %rdi\n"  // munmap(code + 4096, begin - (code + 4096))
    "mov %r15, %rsi\n"
    "sub %rdi, %rsi\n"
    "jz 1f\n"
    "mov $11, %eax\n"
    "syscall\n"
    "test %rax, %rax\n"
    "jnz 3f\n"
    "1: mov %rbx, %rdi\n"  // munmap(end, the end of all addresses - end)
    "movabs $0x7ffffffff000, %rsi\n"
    "sub %rdi, %rsi\n"
    "jz 2f\n"
    "mov $11, %eax\n"
    "syscall\n"
    "test %rax, %rax\n"
    "jnz 3f\n"
    "2: xor %ebx, %ebx\n"
    "xor %r15d, %r15d\n"
    "xor %edx, %edx\n"
    "xor %r10d, %r10d\n"
    "xor %r8d, %r8d\n"
    "xor %r9d, %r9d\n"
    "mov $4, %edi\n"  // prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    "mov $1, %esi\n"
    "mov $157, %eax\n"
    "syscall\n"
    "mov %r12, %rdi\n"  // write(ready, code, 1)
    "mov %r14, %rsi\n"
    "mov $1, %edx\n"
    "mov $1, %eax\n"
    "syscall\n"
    "cmp $1, %rax\n"
    "jne 3f\n"
    "mov %r12, %rdi\n"  // close(ready)
    "mov $3, %eax\n"
    "syscall\n"
    "mov $22, %edi\n"  // prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0)
    "mov $1, %esi\n"
    "xor %edx, %edx\n"
    "mov $157, %eax\n"
    "syscall\n"
    "4: mov %r13, %rdi\n"  // read(forever, code, 1)
    "mov %r14, %rsi\n"
    "mov $1, %edx\n"
    "xor %eax, %eax\n"
    "syscall\n"
    "jmp 4b\n"
    "3: mov $1, %edi\n"  // exit_group(1)
    "mov $231, %eax\n"
    "syscall\n"
    "hlt\n"
    ".popsection\n");
extern "C" [[noreturn]] void stab_hold_alone(long ready, long forever, std::uintptr_t code,
                                             std::uintptr_t begin, std::uintptr_t end);

namespace stab {
namespace {

// The inode of a descriptor's file, because the descriptor's number may be reused for another file,
// and the child that holds the file.
struct Held {
  ino_t file = 0;
  pid_t holder = 0;
};

std::map<int, Held>& held() {
  static std::map<int, Held> all;
  return all;
}

ino_t file_behind(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

bool is_alive(pid_t holder) {
  return holder != 0 && waitpid(holder, nullptr, WNOHANG | __WALL) == 0;
}

void close_all_but(int low, int high) {
  const auto close_from_to = [](int first, unsigned last) {
    if (std::cmp_less_equal(first, last)) syscall(SYS_close_range, first, last, 0U);
  };
  if (low > 0) close_from_to(0, static_cast<unsigned>(low) - 1);
  close_from_to(low + 1, static_cast<unsigned>(high) - 1);
  close_from_to(high + 1, ~0U);
}

using Address = std::uintptr_t;

constexpr Address page_bytes = 4096;
constexpr Address end_of_addresses = 0x7ffffffff000;

// The pages that the kernel maps into every process. Some kernels seal them, so they stay.
struct KernelPages {
  Address begin = end_of_addresses;
  Address end = end_of_addresses;
};

KernelPages kernel_pages() {
  constexpr std::size_t most_text = std::size_t{16} << 20;
  const std::string maps = read_file("/proc/self/maps", most_text).value_or("");
  KernelPages pages;
  for (std::string_view rest = maps; !rest.empty();) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.contains('/') || (!line.contains("[vdso]") && !line.contains("[vvar"))) continue;
    char* behind = nullptr;
    const Address begin = std::strtoull(line.c_str(), &behind, 16);
    const Address end = *behind == '-' ? std::strtoull(behind + 1, nullptr, 16) : begin;
    pages.end = pages.begin == end_of_addresses ? end : std::max(pages.end, end);
    pages.begin = std::min(pages.begin, begin);
  }
  return pages;
}

// The kernel writes to this area of libc whenever it has moved us to another CPU, and would end us
// if the area is gone.
void give_up_rseq() {
  if (__rseq_size == 0) return;
  constexpr unsigned least_bytes = 32;
  char* self = nullptr;
  asm("mov %%fs:0, %0" : "=r"(self));
  syscall(SYS_rseq, self + __rseq_offset, std::max(__rseq_size, least_bytes), RSEQ_FLAG_UNREGISTER,
          RSEQ_SIG);
}

// The holder's code: it reads a pipe that nobody writes to, and so waits forever.
[[noreturn]] void hold(int file, int ready, pid_t parent, const KernelPages& pages) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (syscall(SYS_getppid) != parent) _exit(1);
  setsid();
  prctl(PR_SET_NAME, "stab-files");
  close_all_but(std::min(file, ready), std::max(file, ready));
  std::array<int, 2> forever{};
  if (pipe2(forever.data(), O_CLOEXEC) != 0) _exit(1);
  const auto code = reinterpret_cast<Address>(&stab_hold_alone);
  if (code % page_bytes != 0 || pages.begin < code + page_bytes) _exit(1);
  give_up_rseq();
  stab_hold_alone(ready, forever[0], code, pages.begin, pages.end);
}

// Like fork(), but the child sends no signal when it ends, so that a wait() for other children does
// not see it.
pid_t fork_unseen() {
  clone_args arguments{};
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
}

void end_holder(pid_t holder) {
  if (holder == 0) return;
  kill(holder, SIGKILL);
  while (waitpid(holder, nullptr, __WALL) < 0 && errno == EINTR) {
  }
}

// Returns 0 if no holder could be started.
pid_t start_holder(int file) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return 0;
  const Fd told(ends[0]);
  Fd ready(ends[1]);
  const pid_t parent = getpid();
  const KernelPages pages = kernel_pages();
  const pid_t child = fork_unseen();
  if (child == 0) hold(file, ready.get(), parent, pages);
  if (child < 0) return 0;
  ready.reset();
  char byte = 0;
  ssize_t size = 0;
  while ((size = read(told.get(), &byte, 1)) < 0 && errno == EINTR) {
  }
  if (size == 1) return child;
  end_holder(child);
  return 0;
}

// Pads the path to the same length for every pid: it is put into a program's environment, whose
// size moves the program's stack.
std::string path_in(pid_t process, int fd) {
  return fmt::format("/proc/{}{:/<{}}fd/{}", process, "",
                     std::max<std::size_t>(11 - fmt::formatted_size("{}", process), 1), fd);
}

}  // namespace

std::string path_for_others(int fd) {
  const ino_t file = file_behind(fd);
  if (file == 0) return "";
  if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1) return path_in(getpid(), fd);
  auto& all = held();
  const auto known = all.find(fd);
  if (known != all.end() && known->second.file == file && is_alive(known->second.holder))
    return path_in(known->second.holder, fd);
  std::erase_if(all, [fd](const auto& each) {
    const bool goes = each.first == fd || file_behind(each.first) != each.second.file;
    if (goes) end_holder(each.second.holder);
    return goes;
  });
  const pid_t holder = start_holder(fd);
  if (holder == 0) return "";
  all[fd] = {.file = file, .holder = holder};
  return path_in(holder, fd);
}

bool holds_our_files(pid_t process) {
  return std::ranges::any_of(held(),
                             [process](const auto& each) { return each.second.holder == process; });
}

}  // namespace stab
