// SPDX-License-Identifier: MIT
// A crash of the program is the program's: same signal, same exit status, same core. We only write
// a line first.
#pragma once

namespace stab::rt {

// For the signals of a crash that have their default action. Handlers that the program installs
// later replace ours.
void watch_crashes();

}  // namespace stab::rt
