// SPDX-License-Identifier: MIT
// Turns TOML text into a Plan, or reports everything that is wrong with it at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "toml/value.h"

namespace stab::plan {

inline constexpr std::size_t max_plan_bytes = std::size_t{1} << 20;
inline constexpr std::uint64_t max_trials = 1'000'000;  // each has at least one attempt
inline constexpr std::uint64_t max_cells = 10'000;  // treatment cells, before benchmarks and blocks
inline constexpr std::size_t max_factors = 16;

// Outcomes: a valid plan, or one or more problems in the order of their positions. It never throws
// and touches no file: the worker finds out whether a program or a stdin file exists. `text` may be
// any bytes.
std::expected<Plan, std::vector<toml::Problem>> read_plan(std::string_view text);

// Returns why all comparisons stay without a verdict if the plan asks for verdicts about another
// average than the mean; "" if they can get one, or if the plan compares nothing. Such plans were accepted, so they stay readable.
std::string_view why_only_means(const Plan& plan);

// All problems of a refused plan, and the command that explains its keys.
std::string describe(const std::vector<toml::Problem>& problems, std::string_view file);

// Returns the plan's text followed by a table [by_default] with defaults of this version, so that
// later versions read the stored plan as this one does. If szc builds a program of the plan, the
// table has random stack frames and random heap blocks, unless the plan sets or varies them, turns
// code off, or varies code. It has the version of clang if the plan builds a program and does not
// set both CC and CXX. It has plain trials if the plan does not set analysis.cost, something is
// random, and the plan has enough blocks. It has the number of nodes if the plan has a range of
// nodes and a number was chosen. Other texts stay as they are, and so do plans that have such a
// table.
std::string with_defaults(const std::string& text, std::optional<std::uint32_t> nodes = {});
// The text without the lines that with_defaults() added.
std::string_view without_defaults(std::string_view text);

}  // namespace stab::plan
