// SPDX-License-Identifier: MIT
// For tests of allocators. A process has one allocator for its whole life, so each test runs in a
// child.
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

// Opens an allocator as choice.cc does, in front of the system's heap.
inline const Allocator& open(rt::Base base, std::uint64_t seed = 1) {
  find_system_heap();
  rt::Options options;
  options.allocator = base;
  return open_allocator(options, seed);
}

// Whether `check` returns true in a child. A crash there counts as false.
inline bool holds(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Whether the heap aborts a child that does this.
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
// ThreadSanitizer does not see how libc's malloc orders threads, so such tests are skipped.
inline constexpr bool watches_threads = true;
#else
inline constexpr bool watches_threads = false;
#endif

// AddressSanitizer keeps one byte for each of this many bytes that were ever used; 0: no sanitizer
// does.
#if __has_feature(address_sanitizer)
inline constexpr unsigned long shadowed_bytes = 8;
#else
inline constexpr unsigned long shadowed_bytes = 0;
#endif

}  // namespace stab::heap
