// SPDX-License-Identifier: MIT
// The frames that everything else stands on, main's and those of threads, begin a random number of
// bytes lower: the size of the environment leaves no trace in the addresses of frames.
#pragma once

#include "runtime/base/outside_handlers.h"
#include "runtime/base/random.h"

namespace stab::rt {

void move_first_frames(const BeforeStart& proof, const Random& random);

// From now on threads tell epochs that they begin.
void announce_threads();

}  // namespace stab::rt
