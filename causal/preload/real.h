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

}  // namespace stab::causal

// The function that a call of ours goes on to, with its type.
#define STAB_REAL(name) \
  (reinterpret_cast<decltype(&::name)>(::stab::causal::real_function(::stab::causal::Call::name)))
#define STAB_EXPORT extern "C" __attribute__((visibility("default")))
