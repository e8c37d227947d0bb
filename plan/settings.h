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
// Variables of our own, STABD_..., are left out.
std::vector<std::string> settings_of(const Plan& plan);

// The treatments that the experiment's question names, those first that it names most plainly: by
// the factor's name, then by what a level sets ("-O3"), then by a level's name.
std::vector<std::string> treatments_asked(const Plan& plan);

}  // namespace stab::plan
