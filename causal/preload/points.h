// SPDX-License-Identifier: MIT
// Progress points: the functions that a program calls if it includes coz.h or stabilizer.h
// (points.cc exports them), and the points that the profiler asks for.
#pragma once

#include <stdint.h>

namespace stab::causal {

// Counts the points of kind `sampled` that belong to this line. Called in a handler.
void visit_sampled_points(uint32_t line);
// Finds the points of this kind that are in the file when the program starts.
void find_sampled_points();

}  // namespace stab::causal
