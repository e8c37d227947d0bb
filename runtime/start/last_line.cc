// SPDX-License-Identifier: MIT
#include "runtime/start/last_line.h"

#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

// | process: 22 bits | the thread that writes, or `written`: 41 | whether somebody waits: 1 |
constexpr unsigned process_shift = 42;  // the kernel's process numbers are below 1 << 22
constexpr uint64_t waits = 1;
constexpr uint64_t written = (uint64_t{1} << process_shift) - 2;

uint64_t in_this_process(uint64_t who) {
  return static_cast<uint64_t>(os::process_id()) << process_shift | who;
}

// Identifies the thread by the address of its control block, which libc aligns to 64 bytes.
uint64_t this_thread() {
  return (address_of(__builtin_thread_pointer()) >> 5) & written;
}

bool is_in(uint64_t process, uint64_t state) {
  return state >> process_shift == process >> process_shift;
}

}  // namespace

// A separate function, so that handler_test.sh can tell that _exit waits only here.
__attribute__((noinline)) void LastLine::wait_for_writer(uint64_t state) {
  const uint64_t end = in_this_process(written);
  const uint64_t began = os::monotonic_ns();
  while ((state & ~waits) != end) {
    const uint64_t waited = os::monotonic_ns() - began;
    if (waited >= patience_ns_) return;
    if ((state & waits) == 0 && !__atomic_compare_exchange_n(&state_, &state, state | waits, false,
                                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      continue;
    os::wait_for_change(reinterpret_cast<const uint32_t*>(&state_),
                        static_cast<uint32_t>(state | waits), patience_ns_ - waited);
    state = __atomic_load_n(&state_, __ATOMIC_ACQUIRE);
  }
}

bool LastLine::begin() {
  const uint64_t own = in_this_process(this_thread());
  uint64_t state = __atomic_load_n(&state_, __ATOMIC_ACQUIRE);
  while (!is_in(own, state))
    if (__atomic_compare_exchange_n(&state_, &state, own, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return true;
  if ((state & ~waits) == own) return true;
  wait_for_writer(state);
  return false;
}

void LastLine::end() {
  const uint64_t before = __atomic_exchange_n(&state_, in_this_process(written), __ATOMIC_ACQ_REL);
  if ((before & waits) != 0) os::wake_all(reinterpret_cast<const uint32_t*>(&state_));
}

}  // namespace stab::rt
