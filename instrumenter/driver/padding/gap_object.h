// SPDX-License-Identifier: MIT
// An object file of nothing but gaps, which a link takes first.
#pragma once

#include <string>

#include "base/random.h"

namespace stab::driver {

// Sections .text, .rodata, .data.rel.ro and .data of 1 to 4096 bytes each, drawn from `random`.
std::string gap_object(Random& random);

}  // namespace stab::driver
