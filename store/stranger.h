// SPDX-License-Identifier: MIT
// A worker or an archive may send anything as a trial. This decides whether it is stored.
#pragma once

#include <string>
#include <vector>

#include "store/records.h"

namespace stab::store {

// Why these are not stored: a name is not a single line without control characters, or they are too
// large. "" if they are stored.
std::string refusal_of(const std::vector<counters::Reading>& readings);
// The same for everything that a worker reports of a trial. Every stored trial can be exported and
// imported again.
std::string refusal_of(const Trial& trial);

}  // namespace stab::store
