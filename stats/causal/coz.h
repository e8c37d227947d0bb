// SPDX-License-Identifier: MIT
// Profiles as coz writes and its viewer reads them: a record a line, its fields separated by tabs.
// A file may hold several runs, each from its `startup` on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "stats/causal/profile.h"

namespace stab::stats::causal {

inline constexpr std::size_t most_coz_bytes = std::size_t{256} << 20;

// Adds the runs of the text, which may be any bytes, to the profile. An error names the line of the
// text, and the profile is as it was. Records of unknown types are skipped, so are unknown fields. Of
// several counts of a line's samples in a run the last one holds, as coz repeats them as they grow.
// An experiment with a duration below 0, which coz writes where its pauses took longer than all of it,
// is left out with its points and counted; a text that has no others is an error.
Result<void> read_coz(std::string_view text, Profile& profile);

// read_coz() makes the same profile of it, but for pauses and what was left out, which the format does not have. Names lose
// their control characters.
std::string as_coz(const Profile& profile);

}  // namespace stab::stats::causal
