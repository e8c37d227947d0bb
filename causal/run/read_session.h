// SPDX-License-Identifier: MIT
// Reads what a run left in the session's file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "causal/run/session_file.h"
#include "stats/causal/profile.h"

namespace stab::causal {

// Facts about the whole run, for messages.
struct Seen {
  bool has_begun = false;
  std::uint64_t experiments = 0;
  std::uint64_t visits = 0;  // visits of all progress points
  std::uint64_t points = 0;
  std::uint64_t samples = 0;
  std::uint64_t samples_outside = 0;
  std::uint64_t period_ns = 0;  // as measured; 0: there was no sample
  std::uint64_t duration_ns = 0;
  std::uint32_t lost = 0;            // experiments for which there was no room
  std::uint32_t damaged = 0;         // records that the program has written over
  std::uint32_t unwound_short = 0;   // samples whose stack could not be walked to its end
  std::uint32_t timeless = 0;        // experiments left out because pauses took all of their time
  std::uint32_t sampled_by = 0;      // a Sampler
  std::vector<Arrivals> arrivals{};  // one for each thread or place that has arrivals
};

// Adds the run to the profile, whatever the bytes are. There must be `layout.size` of them,
// aligned to 8. Processes that the program left behind may still write to them. `passed_ns` is how
// long the program ran; it is used if the program did not end by itself.
Seen add_run(const Layout& layout, const std::vector<std::string>& lines, bool is_end_to_end,
             std::span<const std::byte> bytes, std::uint64_t passed_ns,
             stats::causal::Profile& profile);

}  // namespace stab::causal
