// SPDX-License-Identifier: MIT
// --load: how much more work is to come in, and by how much each visit of an arrival point makes its
// thread faster for that.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "causal/session/session.h"

namespace stab::client::causal {

// "1.25x", or several as "1x,1.5x": ascending, each once, 1 or more.
Result<std::vector<double>> read_loads(const std::string& text);

// From visit to visit in a thread; 0: there are none.
std::chrono::nanoseconds mean_gap(std::span<const stab::causal::Arrivals> arrivals);

// Nanoseconds. The error says what arrivals there are, or which load can be reached.
Result<std::uint64_t> speedup_for(double load, std::span<const stab::causal::Arrivals> arrivals);

}  // namespace stab::client::causal
