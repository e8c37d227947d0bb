// SPDX-License-Identifier: MIT
// Converts the profile of a trial to the text of one column (doc/store.md, "Profiles") and back:
//   ["task-clock:u","ns",997,0,[["sort","prog",451,452357000],["memcpy","libc.so.6",3,3009000]]]
//   ["cycles","",997,0,"this machine shows no hardware counters"]
// The numbers are samples per second, lost records, and the samples and weight of each function.
//
// Reading returns what was written, and refuses any other text (exceptions.h), whoever wrote it.
// Larger numbers are written as 2^63 - 1.
#pragma once

#include <string>
#include <string_view>

#include "counters/profile.h"

namespace stab::store {

// "" if no profile was wanted.
std::string profile_text(const counters::Profile& profile);

// Reuses the memory of `profile`.
void read_profile_text(std::string_view text, counters::Profile& profile);

}  // namespace stab::store
