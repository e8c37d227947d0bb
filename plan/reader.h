// SPDX-License-Identifier: MIT
// TOML text -> Plan, or everything that is wrong with it in one go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stab::plan {

inline constexpr std::size_t max_plan_bytes = std::size_t{1} << 20;
inline constexpr std::uint64_t max_trials = 1'000'000;  // one attempt each
inline constexpr std::uint64_t max_cells = 10'000;  // treatment cells, before benchmarks and blocks
inline constexpr std::size_t max_factors = 16;
inline constexpr std::size_t max_listed_cells = 1'000;  // of a custom design
inline constexpr std::size_t max_problems = 50;         // more are counted, not listed

// A mistake in the plan. line and column start at 1; 0 means the plan as a whole.
struct Problem {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string message;  // names the key and says what to change
};

// Outcomes: a valid plan; or one or more problems in the order of their places. Never throws,
// touches no file: whether a program or a stdin file exists is the worker's to find out. `text` may
// be any bytes.
std::expected<Plan, std::vector<Problem>> read_plan(std::string_view text);

// "plan.toml:12:3: unknown key 'repetition', did you mean 'repetitions'?", a line a problem.
std::string describe(const std::vector<Problem>& problems, std::string_view file);

}  // namespace stab::plan
