// SPDX-License-Identifier: MIT
// What a plan sets, in words for reports.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

// "CC = clang-19" with the other variables that are used and not empty, then a line for each
// treatment whose levels set variables: "opt: O1 sets CFLAGS = -O1; O2 sets CFLAGS = -O2". Long
// texts and long lists are cut, and say so.
std::vector<std::string> settings_of(const Plan& plan);

}  // namespace stab::plan
