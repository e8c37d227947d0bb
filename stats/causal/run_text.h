// SPDX-License-Identifier: MIT
// A run as the text of one column (doc/store.md, "Causal profiles"), and back: JSON of lists, whose
// first members are indices into `lines` and `points`.
//
//   {"started_ns":1,"effective_ns":2,"lines":["a.c:3"],"points":[["item","throughput"]],
//    "experiments":[[0,250,500000000,1000,12,[[0,40]]]],"samples":[[0,451]]}
//
// A point where work comes in has "arrival" after its kind. `sampling` has the members of Sampling,
// and may be missing.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "stats/causal/profile.h"

namespace stab::stats::causal {

// Writes a profile with one run. Bytes of names that are not UTF-8 are replaced.
std::string run_text(const Profile& profile);

// Adds the run of the text, which may come from anybody, to the profile. On an error the profile
// stays as it was.
Result<void> read_run(std::string_view text, Profile& profile);

}  // namespace stab::stats::causal
