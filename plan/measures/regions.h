// SPDX-License-Identifier: MIT
// Regions that programs mark by name (runtime/stabilizer.h). Each trial has two readings of a
// region: the time in it, "region-NAME-ns", and how often it was entered, "region-NAME-count".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stab::plan {

// The runtime's limits. A test checks that both have the same values.
inline constexpr std::size_t max_region_name = 40;
inline constexpr std::size_t max_regions = 64;

// Whether the name has 1 to 40 letters, digits, '_', '.' and '-'.
bool is_region_name(std::string_view name);

std::string region_time(std::string_view region);
std::string region_count(std::string_view region);

// Returns the region whose reading has this name, or nothing if it is not the reading of a region.
std::optional<std::string_view> region_of(std::string_view reading);

}  // namespace stab::plan
