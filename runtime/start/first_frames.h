// SPDX-License-Identifier: MIT
// The first frames of main and of threads, on which all others stand, begin a random number of
// bytes lower. So the size of the environment leaves no trace in the addresses of frames.
#pragma once

#include "runtime/base/outside_handlers.h"
#include "runtime/base/random.h"

namespace stab::rt {

void move_first_frames(const BeforeStart& proof, const Random& random);

// From now on threads tell epochs that they begin.
void announce_threads();

}  // namespace stab::rt
