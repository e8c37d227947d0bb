// SPDX-License-Identifier: MIT
// Describes what a plan sets, in words for reports.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// A line with the variables that are used and not empty, if there are any: "CC = clang-19". A line
// about random stack frames, if they are the default. A line for each treatment that is not a
// built-in factor: "opt: O1 sets CFLAGS = -O1; O2 sets CFLAGS = -O2". Long texts and long lists
// are cut, and say so. Levels leave out our own variables, STABD_...
std::vector<std::string> settings_of(const Plan& plan);

// The treatments that the experiment's question names, the most plainly named first: by the
// factor's name, then by a value that a level sets ("-O3"), then by a level's name.
std::vector<std::string> treatments_asked(const Plan& plan);

}  // namespace stab::plan
