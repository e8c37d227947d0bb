// SPDX-License-Identifier: MIT
// A worker and an archive may say anything of a trial. This says what of it is stored.
#pragma once

#include <string>
#include <vector>

#include "store/records.h"

namespace stab::store {

// Why these are not stored: a name is no line without control characters, or there is too much. "" if they are.
std::string refusal_of(const std::vector<counters::Reading>& readings);
// The same for all that a run decides. What is stored can always be exported and imported.
std::string refusal_of(const Trial& trial);

}  // namespace stab::store
