// SPDX-License-Identifier: MIT
#include "plan/measures/regions.h"

#include <algorithm>

namespace stab::plan {
namespace {

constexpr std::string_view before = "region-";
constexpr std::string_view behind_time = "-ns";
constexpr std::string_view behind_count = "-count";

bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

}  // namespace

bool is_region_name(std::string_view name) {
  return !name.empty() && name.size() <= max_region_name && std::ranges::all_of(name, is_in_name);
}

std::string region_time(std::string_view region) {
  return std::string(before).append(region).append(behind_time);
}

std::string region_count(std::string_view region) {
  return std::string(before).append(region).append(behind_count);
}

std::optional<std::string_view> region_of(std::string_view reading) {
  if (!reading.starts_with(before)) return std::nullopt;
  reading.remove_prefix(before.size());
  for (const std::string_view behind : {behind_time, behind_count})
    if (reading.ends_with(behind)) {
      reading.remove_suffix(behind.size());
      return is_region_name(reading) ? std::optional(reading) : std::nullopt;
    }
  return std::nullopt;
}

}  // namespace stab::plan
