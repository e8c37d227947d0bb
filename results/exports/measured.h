// SPDX-License-Identifier: MIT
// What of an experiment is a measurement, for formats that hold nothing else.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "plan/plan.h"
#include "store/records.h"

namespace stab::results {

Result<plan::Plan> plan_of(const store::Experiment& experiment);

// No warm-up, no attempt that was repeated, and it is ok.
bool is_measured(const store::Trial& trial);

// Treatment -> level; without layout factors.
std::map<std::string, std::string> treatments_of(const plan::Plan& plan, const store::Trial& trial);

}  // namespace stab::results
