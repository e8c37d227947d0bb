// SPDX-License-Identifier: MIT
// The profile of a trial as the text of one column (doc/store.md, "Profiles"), and back:
//   ["task-clock:u","ns",997,0,[["sort","prog",451,452357000],["memcpy","libc.so.6",3,3009000]]]
//   ["cycles","",997,0,"this machine shows no hardware counters"]
// The numbers are samples per second, lost records, and of each function its samples and weight.
//
// What is written is read back equal; what is no such text is refused (failure.h), whoever wrote
// it. Numbers beyond 2^63 - 1 have no text: they are written as that.
#pragma once

#include <string>
#include <string_view>

#include "counters/profile.h"

namespace stab::store {

// "" if none was asked for.
std::string profile_text(const counters::Profile& profile);

// Uses what is in `profile` again.
void read_profile_text(std::string_view text, counters::Profile& profile);

}  // namespace stab::store
