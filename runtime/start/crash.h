// SPDX-License-Identifier: MIT
// A crash of the program stays what it would be without us: the same signal, exit status and core.
// The runtime only writes a line first, on a stack of its own.
#pragma once

namespace stab::rt {

// For the signals of a crash that have their default action. Handlers that the program installs
// later replace ours.
void watch_crashes();

}  // namespace stab::rt
