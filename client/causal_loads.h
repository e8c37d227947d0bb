// SPDX-License-Identifier: MIT
// --load says how much more work should arrive. These functions find the time that each visit to an
// arrival point must save its thread for that.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "causal/session.h"

namespace stab::client::causal {

// Reads "1.25x", or several loads as "1x,1.5x", and sorts them. A load below 1 or a repeated load
// is an error.
Result<std::vector<double>> read_loads(const std::string& text);

// The mean time between two visits in one thread; 0 if there were none.
std::chrono::nanoseconds mean_gap(std::span<const stab::causal::Arrivals> arrivals);

// How many nanoseconds each visit must save. The error says which arrivals are missing, or the
// highest load that can be reached.
Result<std::uint64_t> speedup_for(double load, std::span<const stab::causal::Arrivals> arrivals);

}  // namespace stab::client::causal
