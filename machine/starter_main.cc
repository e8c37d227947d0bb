// SPDX-License-Identifier: MIT
// stab-starter gated|free PROGRAM ARGV...: starts a trial's program.
//
// The program's process begins by borrowing the memory of this process. This process is small, so
// that it does not hide the program's peak memory, and its memory is not copied, because freeing a
// copy would take milliseconds of the program's own time. The program's process is a child of the
// measuring process. This process ends as soon as the program runs, on other CPUs than the
// program's.
//
// This program does not use libc, whose start would take longer than everything here.
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <initializer_list>

#include "machine/starter_note.h"
#include "runtime/base/system_call.h"

namespace {

using stab::machine::Note;
using stab::os::address_of;
using stab::os::call;

struct Start {
  Note* note;
  char** program_and_argv;
  char** environment;
  stab::machine::CpuWords cpus;  // the program's CPUs
  long bytes;                    // the size of `cpus` that the kernel uses
  bool gated;
  bool elsewhere;  // we have moved away from these CPUs
};

[[noreturn]] void end(int code) {
  for (;;) call(SYS_exit_group, code);
}

[[noreturn]] void give_up(Note& note, long result, const char* what) {
  note.error = static_cast<int>(result < 0 ? -result : EIO);
  for (std::size_t i = 0; what[i] != 0 && i + 1 < note.failed.size(); ++i) note.failed[i] = what[i];
  end(127);
}

// Moves this process to those CPUs of the measuring process that are not the program's, if there
// are any.
void leave(Start& start) {
  stab::machine::CpuWords others;
  start.bytes = call(SYS_sched_getaffinity, 0, sizeof start.cpus, address_of(start.cpus.data()));
  start.elsewhere = false;
  if (start.bytes <= 0) return;
  for (long i = 0; i < start.bytes / 8; ++i)
    others[i] = start.note->starter_cpus[i] & ~start.cpus[i];
  start.elsewhere = call(SYS_sched_setaffinity, 0, start.bytes, address_of(others.data())) == 0;
}

// Makes the kernel end the program before others if memory runs out. This is done here because the
// measuring process can't write its own files in /proc.
void be_the_first_to_go() {
  const long fd = call(SYS_open, address_of("/proc/self/oom_score_adj"), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  call(SYS_write, fd, address_of("1000"), 4);
  call(SYS_close, fd);
}

void note_sched(Note& note) {
  const long fd = call(SYS_open, address_of("/proc/self/sched"), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const long size = call(SYS_read, fd, address_of(note.sched.data()), note.sched.size());
  note.sched_size = size > 0 ? static_cast<std::uint32_t>(size) : 0;
  call(SYS_close, fd);
}

[[noreturn]] void become_program(const Start& start) {
  Note& note = *start.note;
  call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (call(SYS_getppid) != note.parent) end(127);  // the parent has already died
  call(SYS_setsid);
  if (start.elsewhere)
    if (const long result =
            call(SYS_sched_setaffinity, 0, start.bytes, address_of(start.cpus.data()));
        result < 0)
      give_up(note, result, "bind it to its CPUs");
  const auto self = static_cast<pid_t>(call(SYS_getpid));
  if (const long size = call(SYS_write, stab::machine::told_fd, address_of(&self), sizeof self);
      size != sizeof self)
    give_up(note, size, "report that it is running");
  std::uint64_t released = 0;
  if (start.gated)
    if (const long size =
            call(SYS_read, stab::machine::gate_fd, address_of(&released), sizeof released);
        size != sizeof released)
      give_up(note, size, "wait for its start");
  // Kernels before 5.9 have no close_range(). We have only these three descriptors to close.
  if (call(SYS_close_range, 3, ~0U, 0) < 0)
    for (const int fd : {stab::machine::note_fd, stab::machine::told_fd, stab::machine::gate_fd})
      call(SYS_close, fd);
  note_sched(note);
  call(SYS_getrusage, RUSAGE_SELF, address_of(&note.before));
  timespec now;
  call(SYS_clock_gettime, CLOCK_MONOTONIC, address_of(&now));
  note.exec_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  give_up(note,
          call(SYS_execve, address_of(start.program_and_argv[0]),
               address_of(start.program_and_argv + 1), address_of(start.environment)),
          "execute");
}

// Like vfork, but the child becomes a child of our parent. Both processes use the same stack, so
// this must be inlined into its caller, from which neither of them returns.
[[gnu::always_inline]] inline long borrow_this_process() {
  long result = SYS_clone;
  const unsigned long flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD;
  register long tls asm("r8") = 0;
  register long child_tid asm("r10") = 0;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(flags), "S"(0L), "d"(0L), "r"(child_tid), "r"(tls)
               : "rcx", "r11", "memory");
  return result;
}

// The kernel puts this at the beginning of the stack: the number of words, the words, null, and the
// environment.
extern "C" [[noreturn, gnu::used]] void begin(long* stack) {
  const long words = stack[0];
  char** const argv = reinterpret_cast<char**>(stack + 1);
  if (words < 4) end(126);
  const long page = call(SYS_mmap, 0, sizeof(Note), PROT_READ | PROT_WRITE, MAP_SHARED,
                         stab::machine::note_fd, 0);
  if (page < 0) end(126);
  Start start;
  start.note = reinterpret_cast<Note*>(page);
  start.gated = argv[1][0] == 'g';
  start.program_and_argv = argv + 2;
  start.environment = argv + words + 1;
  leave(start);
  be_the_first_to_go();
  const long child = borrow_this_process();
  if (child == 0) become_program(start);
  if (child < 0) give_up(*start.note, child, "fork");
  end(0);
}

}  // namespace

// The kernel jumps here without a return address, so the stack must be aligned for the call.
asm(".globl _start\n"
    "_start: xor %ebp, %ebp\n"
    "mov %rsp, %rdi\n"
    "and $-16, %rsp\n"
    "call begin\n");
