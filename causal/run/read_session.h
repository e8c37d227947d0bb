// SPDX-License-Identifier: MIT
// What a run left in the session's file, as values.
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

// Of the whole run; for words about it.
struct Seen {
  bool has_begun = false;
  std::uint64_t experiments = 0;
  std::uint64_t visits = 0;  // of all progress points
  std::uint64_t points = 0;
  std::uint64_t samples = 0;
  std::uint64_t samples_outside = 0;
  std::uint64_t period_ns = 0;  // as measured; 0: no sample
  std::uint64_t duration_ns = 0;
  std::uint32_t lost = 0;            // experiments for which there was no room
  std::uint32_t damaged = 0;         // records that the program has written over
  std::uint32_t unwound_short = 0;   // samples
  std::uint32_t timeless = 0;        // experiments left out: pauses took all of their time
  std::uint32_t sampled_by = 0;      // Sampler
  std::vector<Arrivals> arrivals{};  // of each thread or place that has some
};

// Adds the run to the profile, whatever the bytes are; they are `layout.size`, at a multiple of 8, and
// processes that the program left may write them meanwhile. `passed_ns` is how long the program ran,
// which holds where it did not end by itself.
Seen add_run(const Layout& layout, const std::vector<std::string>& lines, bool is_end_to_end,
             std::span<const std::byte> bytes, std::uint64_t passed_ns,
             stats::causal::Profile& profile);

}  // namespace stab::causal
