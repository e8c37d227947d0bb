// SPDX-License-Identifier: MIT
// Simulated histories: experiments of the same program, one after the other, in which nothing changes
// except which trials go missing.
#pragma once

#include <cstdint>

namespace stab::bench {

enum class Missing {
  nothing,
  at_random,   // from some experiment on, one trial in ten fails, whatever it would have taken
  excluded,    // one trial in twenty is disturbed, and takes 20 % longer
  slow,        // one trial in 200 has a slow layout, and times out
  slow_later,  // from some experiment on, the slowest twentieth times out
  slow_days,   // one trial times out in each experiment on the slowest days, about one in 1,000
};

// Whether 'stabctl history', asked after each of these experiments, ever raises an alarm.
bool ever_alarmed(Missing missing, std::size_t experiments, std::uint64_t seed);

}  // namespace stab::bench
