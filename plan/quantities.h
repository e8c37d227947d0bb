// SPDX-License-Identifier: MIT
// The quantities that a rule for excluding trials can use. No response is among them. Counts and
// times are taken per second of wall time or as a share of it, because a slower arm counts more of
// everything. A count that a program itself causes, and that is the same in each run (minor
// faults), is not among them either: per second it would be the wall time again.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace stab::plan {

// How a quantity is computed from its reading.
enum class Take {
  per_second,  // of the trial's wall time
  share,       // a reading in ns, of the trial's wall time
  as_it_is,
  difference,       // the reading minus the one before
  relative_change,  // the absolute difference, as a share of the one before
};

struct Quantity {
  std::string_view name;     // "involuntary_switches_per_s"
  std::string_view unit;     // "1/s", "C"; "": a share or a plain number
  std::string_view reading;  // a reading of a trial: "context-switches-involuntary"
  std::string_view before;   // for difference and relative_change; otherwise ""
  Take take;
  std::string_view meaning;
};

std::span<const Quantity> quantities();
// Returns a null pointer if there is no such quantity.
const Quantity* find_quantity(std::string_view name);
// Whether the quantity may be negative.
bool has_sign(const Quantity& quantity);

// The first of the plan's rules whose quantity counts the same as one of these names, which are
// events of the plan or readings that each trial has. Returns a null pointer if there is no such
// rule.
const Exclusion* rule_on(const Plan& plan, std::span<const std::string> names);

std::string_view to_string(Bound bound);  // ">"
bool catches(const Exclusion& rule, double value);

}  // namespace stab::plan
