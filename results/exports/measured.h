// SPDX-License-Identifier: MIT
// Tells which trials of an experiment are measurements, for formats that hold nothing else.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "plan/plan.h"
#include "store/records.h"

namespace stab::results {

Result<plan::Plan> plan_of(const store::Experiment& experiment);

// Whether the trial is ok, is not a warm-up, and is the last attempt at its position.
bool is_measured(const store::Trial& trial);

// The trial's level of each treatment; random factors are left out.
std::map<std::string, std::string> treatments_of(const plan::Plan& plan, const store::Trial& trial);

}  // namespace stab::results
