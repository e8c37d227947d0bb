// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/start/region_clock.h"

namespace stab::rt {

// Of STAB_BEGIN() and STAB_END(), and of those with names.
const RegionClock& plain_region();
const NamedRegions& named_regions();

}  // namespace stab::rt
