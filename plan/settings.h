// SPDX-License-Identifier: MIT
// Describes what a plan sets, in words for reports.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// The first line has the variables that are used and not empty, such as "CC = clang-19". Then comes
// a line for each treatment whose levels set variables: "opt: O1 sets CFLAGS = -O1; O2 sets CFLAGS
// = -O2". Long texts and long lists are cut, and say so. Our own variables, STABD_..., are left
// out.
std::vector<std::string> settings_of(const Plan& plan);

// The treatments that the experiment's question names, the most plainly named first: by the
// factor's name, then by a value that a level sets ("-O3"), then by a level's name.
std::vector<std::string> treatments_asked(const Plan& plan);

}  // namespace stab::plan
