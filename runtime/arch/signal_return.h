// SPDX-License-Identifier: MIT
#pragma once

// A handler of ours returns to this code, which tells the kernel that the handler is over.
// Unwinders recognise a signal's frame by exactly these bytes if no frame description covers them.
extern "C" __attribute__((visibility("hidden"))) void stab_return_from_signal();

namespace stab::rt {

inline constexpr void (*return_from_signal)() = stab_return_from_signal;

}  // namespace stab::rt
