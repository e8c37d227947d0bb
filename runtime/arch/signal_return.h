// SPDX-License-Identifier: MIT
#pragma once

// Where a handler of ours returns to: the kernel wants to be told that it is over. Unwinders know a
// signal's frame by exactly these bytes, if no description covers them.
extern "C" __attribute__((visibility("hidden"))) void stab_return_from_signal();

namespace stab::rt {

inline constexpr void (*return_from_signal)() = stab_return_from_signal;

}  // namespace stab::rt
