// SPDX-License-Identifier: MIT
// The functions that ours stand before. They are looked up when the library starts, or one by one
// by calls that come earlier. They are not looked up later, because that takes a lock of the
// loader.
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
// Returns the function that takes a free lock or semaphore, for a call that waits for one. It is
// never the program's own function, which expects that only the program calls it. Returns null if
// the library has not started, or if another library stands before libc that would see the call
// but not the attempt.
void* attempt_of(Call call);

}  // namespace stab::causal

// The function to which our function passes the call on, with its type.
#define STAB_REAL(name) \
  (reinterpret_cast<decltype(&::name)>(::stab::causal::real_function(::stab::causal::Call::name)))
#define STAB_ATTEMPT(name, attempt) \
  (reinterpret_cast<decltype(&::attempt)>(::stab::causal::attempt_of(::stab::causal::Call::name)))
#define STAB_EXPORT extern "C" __attribute__((visibility("default")))
