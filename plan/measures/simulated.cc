// SPDX-License-Identifier: MIT
#include "plan/measures/simulated.h"

#include <algorithm>

#include "plan/measures/regions.h"

namespace stab::plan {
namespace {

constexpr std::array<std::string_view, 8> of_real_runs{
    "wall", "user", "system", "cpu", "relative_cpu", "max_rss", "main_to_exit", "region"};

}  // namespace

bool is_simulated(std::string_view reading) {
  return std::ranges::find(simulated_names, reading) != simulated_names.end();
}

bool is_of_real_runs(std::string_view name) {
  const auto region = region_of(name);
  return (region && name == region_time(*region)) ||
         std::ranges::find(of_real_runs, name) != of_real_runs.end();
}

}  // namespace stab::plan
