// SPDX-License-Identifier: MIT
// Assertions, each with the invariant that it holds: STAB_ALWAYS(Placement, 1, condition).
// doc/runtime.md lists the names and numbers, and says for each name which header states it. There
// are three tiers:
//
//   | STAB_ALWAYS    | in every program: a comparison or two, on no path that runs for each block |
//   | STAB_DEBUG     | where STAB_CHECKS is 1 or more: a few comparisons anywhere |
//   | STAB_EXPENSIVE | where STAB_CHECKS is 2: whole structures are checked |
//
// The unit tests and the programs of tests/szc/checked_test.sh are built with STAB_CHECKS 2,
// everything else with 0 or with the value of `cmake -DSTAB_RUNTIME_CHECKS=2`. A check that is off
// is not evaluated. A check that fails writes a line to standard error by a system call and traps;
// it does so in a signal handler, too, and whatever locks are held.
#pragma once

namespace stab::rt {

// Ends the process. `what` is the whole line.
[[noreturn]] void check_failed(const char* what);

}  // namespace stab::rt

#ifndef STAB_CHECKS
#define STAB_CHECKS 0
#endif

#define STAB_TEXT_OF(number) #number
#define STAB_TEXT(number) STAB_TEXT_OF(number)
#define STAB_ALWAYS(invariant, number, ...)                                   \
  (__builtin_expect(static_cast<bool>(__VA_ARGS__), 1)                        \
       ? static_cast<void>(0)                                                 \
       : ::stab::rt::check_failed("stabilizer: " __FILE_NAME__ ":" STAB_TEXT( \
             __LINE__) ": " #invariant " " #number " does not hold: " #__VA_ARGS__ "\n"))
#define STAB_UNCHECKED(...) (true ? static_cast<void>(0) : static_cast<void>(__VA_ARGS__))

#if STAB_CHECKS >= 1
#define STAB_DEBUG(invariant, number, ...) STAB_ALWAYS(invariant, number, __VA_ARGS__)
#else
#define STAB_DEBUG(invariant, number, ...) STAB_UNCHECKED(__VA_ARGS__)
#endif

#if STAB_CHECKS >= 2
#define STAB_EXPENSIVE(invariant, number, ...) STAB_ALWAYS(invariant, number, __VA_ARGS__)
#else
#define STAB_EXPENSIVE(invariant, number, ...) STAB_UNCHECKED(__VA_ARGS__)
#endif
