// SPDX-License-Identifier: MIT
// Stops the other threads of the process, each in our signal handler. A thread that sleeps in the
// kernel is left asleep: waking it could be seen by the program. It is watched instead.
#pragma once

#include <stdint.h>
#include <ucontext.h>

namespace stab::rt {

enum class ThreadState : uint32_t {
  asked,        // to stop
  stopped,      // in our handler, with its registers in `context`
  asleep,       // in a system call, at this pc and stack pointer
  unreachable,  // did not answer in time: it runs, and what it refers to is unknown
  gone,
};

struct Thread {
  int id = 0;
  uint32_t state_word = 0;  // a ThreadState, changed by several threads
  ucontext_t* context = nullptr;
  uint64_t pc = 0;
  uint64_t stack_pointer = 0;
  bool uncertain = false;  // it lends its memory to a child, or more than its stack matters
  // How often the kernel has let it run: if that is the same later, it slept all the time.
  uint64_t times_run = 0;

  [[nodiscard]] ThreadState state() const {
    return static_cast<ThreadState>(__atomic_load_n(&state_word, __ATOMIC_ACQUIRE));
  }
  bool change_state(ThreadState from, ThreadState to) {
    auto expected = static_cast<uint32_t>(from);
    return __atomic_compare_exchange_n(&state_word, &expected, static_cast<uint32_t>(to), false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }
};

constexpr uint32_t most_threads = 4096;

// nullptr, or why the other threads are not known (then none is stopped). One caller at a time.
const char* stop_others(int signal, const void* stop_value);
void resume_others();

// Those that the last call of stop_others found.
uint32_t thread_count();
Thread& thread(uint32_t index);

// Whether a thread that was asleep has not run since.
bool still_asleep(const Thread& thread);

// In the handler of a thread that was asked to stop: returns when it may go on.
void stop_here(ucontext_t* context);

}  // namespace stab::rt
