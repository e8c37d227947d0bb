// SPDX-License-Identifier: MIT
// Whether a plan's rules say that a trial was disturbed. Pure: the trial's readings and its wall
// time as a denominator decide, never a response.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/reading.h"
#include "plan/quantities.h"
#include "store/records.h"

namespace stab::exclusion {

// Readings that mark() adds: which rule caught the trial, counted from 1, and by which value.
inline constexpr std::string_view rule_reading = "exclude-rule";
inline constexpr std::string_view value_reading = "exclude-value";

// Or why there is none, in words.
using Value = std::expected<double, std::string>;
Value value_of(const plan::Quantity& quantity, std::span<const counters::Reading> readings,
               std::optional<std::int64_t> wall_ns);

struct Judgement {
  struct Caught {
    std::size_t rule = 0;
    double value = 0;
  };
  std::optional<Caught> caught{};   // by the first rule that does
  std::vector<std::size_t> open{};  // rules that cannot be judged
};
// A rule whose quantity is absent catches nothing.
Judgement judge(std::span<const plan::Exclusion> rules, const store::Trial& trial);

// A trial that succeeded, is no warm-up and is caught becomes a disturbed one, with the rule and
// its value.
void mark(std::span<const plan::Exclusion> rules, store::Trial& trial);

// The rule that has caught a disturbed trial, from 0. Nothing if the row does not say.
std::optional<std::size_t> rule_of(const store::Trial& trial);

// Whether the row says of itself what mark() would: a disturbed trial is caught by the rule that it
// names, and no other one by any.
bool is_marked_right(std::span<const plan::Exclusion> rules, const store::Trial& trial);

}  // namespace stab::exclusion
