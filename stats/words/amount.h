// SPDX-License-Identifier: MIT
// The units that numbers of a response are shown in.
#pragma once

#include "stats/data/spec.h"

namespace stab::stats {

struct UnitStep {
  double factor = 1;  // divide by this
  const char* name = "";
};

// The largest step that leaves the size 1 or more; the smallest one if none does.
UnitStep unit_step(double size, Unit unit);

}  // namespace stab::stats
