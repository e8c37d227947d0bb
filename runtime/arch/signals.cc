// SPDX-License-Identifier: MIT
#include "runtime/arch/signals.h"

#include <asm/unistd.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

constexpr uint16_t io_uring_enter = 426;

// System calls that can end with EINTR in spite of SA_RESTART (signal(7)).
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
                                      io_uring_enter,
                                      441 /* epoll_pwait2 */,
                                      449 /* futex_waitv */};

bool waits(uint64_t number) {
  for (const uint16_t call : waiting_calls)
    if (call == number) return true;
  return false;
}

constexpr uint64_t unknown = UINT64_MAX;

// Returns how many of the `most` bytes before `at` can be read: `at` may be the first byte of a
// mapping.
int readable_before(const uint8_t* at, int most) {
  const auto address = reinterpret_cast<uint64_t>(at);
  const auto in_page = static_cast<int>(address % os::page_size);
  return in_page >= most || os::readable(address - os::page_size) ? most : in_page;
}

// The kernel does not tell which call it was, but the code a few bytes before the call does:
// `mov $number, %eax`, or `xor %eax, %eax`.
uint64_t number_of_call(const uint8_t* call) {
  constexpr uint8_t move_to_eax = 0xb8;
  const int furthest = readable_before(call, 20);
  for (int back = 5; back <= furthest; ++back)
    if (call[-back] == move_to_eax && waits(load32(call - back + 1)))
      return load32(call - back + 1);
  return furthest >= 2 && call[-2] == 0x31 && call[-1] == 0xc0 ? __NR_read : unknown;
}

// Recognizes libc's timed waits, whose number comes from a register.
bool looks_like_futex_wait(uint64_t operation) {
  constexpr uint64_t modifiers = 0x180;  // private, real time
  constexpr uint64_t wait = 0;
  constexpr uint64_t wait_bitset = 9;
  return (operation & modifiers) != 0 &&
         ((operation & ~modifiers) == wait || (operation & ~modifiers) == wait_bitset);
}

constexpr uint64_t bit_of(int signal) {
  return uint64_t{1} << (signal - 1);
}

bool any_has_handler(uint64_t signals) {
  for (; signals != 0; signals &= signals - 1) {
    os::SignalAction action = {};
    if (!os::failed(os::signal_action(__builtin_ctzll(signals) + 1, nullptr, &action)) &&
        reinterpret_cast<uintptr_t>(action.handler) > 1)
      return true;
  }
  return false;
}

bool program_has_handlers() {
  // The signals of faults, which don't end a wait, and libc's own two.
  constexpr uint64_t others = bit_of(SIGILL) | bit_of(SIGTRAP) | bit_of(SIGABRT) | bit_of(SIGBUS) |
                              bit_of(SIGFPE) | bit_of(SIGSEGV) | bit_of(32) | bit_of(33);
  return any_has_handler(~others);
}

// Returns the start of the system call that has ended with EINTR, or that the kernel is about to
// resume: our return from the signal makes that one end with EINTR, too. Returns nullptr if it is
// neither.
const uint8_t* interrupted_call(const greg_t* registers) {
  const auto* at = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  const bool has_ended = registers[REG_RAX] == -EINTR;
  if (!has_ended && registers[REG_RAX] != __NR_restart_syscall) return nullptr;
  const uint8_t* call = has_ended ? at - 2 : at;
  // Code need not be readable, and the bytes before or behind it may not be mapped.
  for (int i = 0; i < 2; ++i)
    if (!os::readable(reinterpret_cast<uint64_t>(call + i))) return nullptr;
  return call[0] == 0x0f && call[1] == 0x05 ? call : nullptr;
}

void restart(ucontext_t& context, int own_signal, bool interrupted_by_us) {
  greg_t* registers = context.uc_mcontext.gregs;
  const uint8_t* call = interrupted_call(registers);
  if (call == nullptr) return;
  // If a signal that the program handles has arrived meanwhile, that signal interrupts the call.
  // Another signal of ours does not interrupt it, and another thread may handle it.
  uint64_t ignored = 0;
  __builtin_memcpy(&ignored, &context.uc_sigmask, sizeof ignored);
  ignored |= bit_of(own_signal);
  if (any_has_handler(os::pending_signals() & ~ignored)) return;
  uint64_t number = number_of_call(call);
  if (number == unknown && looks_like_futex_wait(static_cast<uint64_t>(registers[REG_RSI])))
    number = __NR_futex;
  if (number == unknown) return;
  if (!interrupted_by_us && number != io_uring_enter && program_has_handlers()) return;
  registers[REG_RAX] = static_cast<greg_t>(number);
  registers[REG_RIP] = reinterpret_cast<greg_t>(call);
}

}  // namespace

void restart_system_call(ucontext_t& context, int own_signal) {
  restart(context, own_signal, true);
}

void restart_uninterrupted_call(ucontext_t& context, int own_signal) {
  restart(context, own_signal, false);
}

}  // namespace stab::rt

// stab_return_from_signal: movq $15, %rax; syscall
__asm__(
    ".section stab_text,\"ax\",@progbits\n"
    ".p2align 4, 0x90\n"
    "nop\n"
    ".hidden stab_return_from_signal\n"
    ".globl stab_return_from_signal\n"
    ".type stab_return_from_signal, @function\n"
    "stab_return_from_signal:\n"
    ".byte 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05\n"
    ".size stab_return_from_signal, . - stab_return_from_signal\n"
    ".previous\n");
