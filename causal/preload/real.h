// SPDX-License-Identifier: MIT
// The functions that ours stand before. They are looked up when the library starts, or one by one
// by calls that come earlier; not later, since a look-up takes a lock of the loader's.
#pragma once

#include <stdint.h>

namespace stab::causal {

enum class Call : uint8_t {
#define STAB_CALL(kind, name, version) name,
#include "causal/preload/interposed.inc"
#undef STAB_CALL
};

void find_all_real();
void* real_function(Call call);
// What takes a lock or a semaphore that is free, for a call that waits for one. The program's own, which
// expects to be called by the program alone, is not it. nullptr: the library has not started, or another
// one stands before libc's that sees the call and would not see the attempt.
void* attempt_of(Call call);

}  // namespace stab::causal

// The function that a call of ours goes on to, with its type.
#define STAB_REAL(name) \
  (reinterpret_cast<decltype(&::name)>(::stab::causal::real_function(::stab::causal::Call::name)))
#define STAB_ATTEMPT(name, attempt) \
  (reinterpret_cast<decltype(&::attempt)>(::stab::causal::attempt_of(::stab::causal::Call::name)))
#define STAB_EXPORT extern "C" __attribute__((visibility("default")))
