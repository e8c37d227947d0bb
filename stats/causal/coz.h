// SPDX-License-Identifier: MIT
// Profiles in the format that coz writes and its viewer reads: one record per line, with its fields
// separated by tabs. A file may hold several runs, each beginning with its `startup`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "stats/causal/profile.h"

namespace stab::stats::causal {

inline constexpr std::size_t most_coz_bytes = std::size_t{256} << 20;

// Adds the runs of the text, which may be any bytes, to the profile. An error names the line of the
// text, and the profile stays as it was. Unknown types of records and unknown fields are skipped.
// Coz repeats the count of a line's samples as it grows, so the last count in a run is valid. An
// experiment with a duration below 0, which coz writes if its pauses took longer than all of it, is
// left out with its points and counted; a text that has only such experiments is an error.
Result<void> read_coz(std::string_view text, Profile& profile);

// read_coz() makes the same runs from this text, except for facts that the format does not have:
// loads, blocks, sampling, and the numbers of arrivals and of experiments that were left out. An
// arrival point becomes a progress point named "NAME (arrivals)". Names lose their control
// characters.
std::string as_coz(const Profile& profile);

}  // namespace stab::stats::causal
