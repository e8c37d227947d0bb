// SPDX-License-Identifier: MIT
#include "runtime/start/last_line.h"

#include "runtime/base/os.h"

namespace stab::rt {
namespace {

constexpr uint32_t written = UINT32_MAX;

uint64_t in_this_process(uint32_t who) {
  return uint64_t{static_cast<uint32_t>(os::process_id())} << 32 | who;
}

}  // namespace

// A function of its own, so that handler_test.sh can tell that _exit waits here alone.
__attribute__((noinline)) void LastLine::wait_for_writer(uint64_t state) const {
  const auto writer = static_cast<uint32_t>(state);
  const auto* word = reinterpret_cast<const uint32_t*>(&state_);
  const uint64_t began = os::monotonic_ns();
  while (writer != written && __atomic_load_n(&state_, __ATOMIC_ACQUIRE) == state) {
    const uint64_t waited = os::monotonic_ns() - began;
    if (waited >= patience_ns_) return;
    os::wait_for_change(word, writer, patience_ns_ - waited);
  }
}

bool LastLine::begin() {
  const uint64_t own = in_this_process(static_cast<uint32_t>(os::thread_id()));
  uint64_t state = __atomic_load_n(&state_, __ATOMIC_ACQUIRE);
  while (state >> 32 != own >> 32)
    if (__atomic_compare_exchange_n(&state_, &state, own, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return true;
  if (state == own) return true;
  wait_for_writer(state);
  return false;
}

void LastLine::end() {
  __atomic_store_n(&state_, in_this_process(written), __ATOMIC_RELEASE);
  os::wake_all(reinterpret_cast<const uint32_t*>(&state_));
}

}  // namespace stab::rt
