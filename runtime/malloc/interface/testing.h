// SPDX-License-Identifier: MIT
// For tests of allocators. A process has one for its whole life, so each test runs in a child.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <functional>

#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/interface/open.h"

namespace stab::heap {

// As choice.cc does: what lies below is looked for first.
inline const Allocator& open(rt::Base base, std::uint64_t seed = 1) {
  find_system_heap();
  rt::Options options;
  options.allocator = base;
  return open_allocator(options, seed);
}

// Runs it in a child, where `false` or a crash is a failure.
inline bool holds(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Runs it in a child. Whether the heap ended that for misuse.
inline bool ends(const std::function<void()>& misuse) {
  const pid_t child = fork();
  if (child == 0) {
    misuse();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#if __has_feature(thread_sanitizer)
inline constexpr bool watches_threads = true;  // and does not see how libc's malloc orders them
#else
inline constexpr bool watches_threads = false;
#endif

}  // namespace stab::heap
