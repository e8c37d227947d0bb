// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace stab::rt {

// Time in the outermost regions so far, and how many were entered.
uint64_t region_time();
uint64_t region_count();

}  // namespace stab::rt
