// SPDX-License-Identifier: MIT
// Progress points: what a program calls that includes coz.h or stabilizer.h (exported, in points.cc),
// and those that the profiler asks for.
#pragma once

#include <stdint.h>

namespace stab::causal {

// Counts the points of kind `sampled` that are of this line. In a handler.
void visit_sampled_points(uint32_t line);
// The points of this kind that are in the file when the program starts.
void find_sampled_points();

}  // namespace stab::causal
