// SPDX-License-Identifier: MIT
#include "instrumenter/driver/environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace stab::driver {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_set(const char* name) {
  const std::string value = environment(name);
  return !value.empty() && value != "0";
}

Result<std::uint64_t> parse_seed(std::string_view name, std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    return fail(
        fmt::format("{}={}: the seed must be a whole number from 0 to 2^64 - 1", name, text));
  return seed;
}

}  // namespace stab::driver
