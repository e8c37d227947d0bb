// SPDX-License-Identifier: MIT
#include "runtime/restart.h"

#include <asm/unistd.h>
#include <errno.h>
#include <stdint.h>

#include "runtime/memory.h"
#include "runtime/os.h"

namespace stab::rt {
namespace {

// Those that can end with EINTR in spite of SA_RESTART (signal(7)).
constexpr uint16_t waiting_calls[] = {__NR_poll,
                                      __NR_ppoll,
                                      __NR_select,
                                      __NR_pselect6,
                                      __NR_epoll_wait,
                                      __NR_epoll_pwait,
                                      __NR_pause,
                                      __NR_rt_sigsuspend,
                                      __NR_nanosleep,
                                      __NR_clock_nanosleep,
                                      __NR_rt_sigtimedwait,
                                      __NR_futex,
                                      __NR_read,
                                      __NR_readv,
                                      __NR_recvfrom,
                                      __NR_recvmsg,
                                      __NR_recvmmsg,
                                      __NR_write,
                                      __NR_writev,
                                      __NR_sendto,
                                      __NR_sendmsg,
                                      __NR_sendmmsg,
                                      __NR_accept,
                                      __NR_accept4,
                                      __NR_connect,
                                      __NR_semop,
                                      __NR_semtimedop,
                                      __NR_msgsnd,
                                      __NR_msgrcv,
                                      __NR_io_getevents,
                                      426 /* io_uring_enter */,
                                      441 /* epoll_pwait2 */,
                                      449 /* futex_waitv */};

bool waits(uint64_t number) {
  for (const uint16_t call : waiting_calls)
    if (call == number) return true;
  return false;
}

constexpr uint64_t unknown = UINT64_MAX;

// The kernel does not tell which call it was. The code before it does: `mov $number, %eax`, or
// `xor %eax, %eax`, a few bytes back.
uint64_t number_of_call(const uint8_t* call) {
  constexpr int furthest = 20;
  constexpr uint8_t move_to_eax = 0xb8;
  for (int back = 5; back <= furthest; ++back)
    if (call[-back] == move_to_eax && waits(load32(call - back + 1)))
      return load32(call - back + 1);
  return call[-2] == 0x31 && call[-1] == 0xc0 ? __NR_read : unknown;
}

// Timed waits of libc, where the number comes from a register.
bool looks_like_futex_wait(uint64_t operation) {
  constexpr uint64_t modifiers = 0x180;  // private, real time
  constexpr uint64_t wait = 0;
  constexpr uint64_t wait_bitset = 9;
  return (operation & modifiers) != 0 &&
         ((operation & ~modifiers) == wait || (operation & ~modifiers) == wait_bitset);
}

}  // namespace

void restart_system_call(ucontext_t& context, int own_signal) {
  greg_t* registers = context.uc_mcontext.gregs;
  if (registers[REG_RAX] != -EINTR) return;
  const auto* call = reinterpret_cast<const uint8_t*>(registers[REG_RIP]) - 2;
  if (call[0] != 0x0f || call[1] != 0x05) return;
  // A signal of the program came meanwhile, and will be handled next: that one interrupts. Another
  // of ours does not, and may be handled by another thread.
  uint64_t ignored = 0;
  __builtin_memcpy(&ignored, &context.uc_sigmask, sizeof ignored);
  ignored |= uint64_t{1} << (own_signal - 1);
  if ((os::pending_signals() & ~ignored) != 0) return;
  uint64_t number = number_of_call(call);
  if (number == unknown && looks_like_futex_wait(static_cast<uint64_t>(registers[REG_RSI])))
    number = __NR_futex;
  if (number == unknown) return;
  registers[REG_RAX] = static_cast<greg_t>(number);
  registers[REG_RIP] -= 2;
}

}  // namespace stab::rt
