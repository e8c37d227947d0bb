// SPDX-License-Identifier: MIT
// What rules that exclude trials may look at. No response is among them, and what is counted or
// lasts is there per second of wall time or as a share of it: a slower arm counts more of
// everything. What a program does itself as often in each run (minor faults) is not among them:
// per second it would be the wall time once more.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace stab::plan {

// How a quantity comes from its reading.
enum class Take {
  per_second,  // of the trial's wall time
  share,       // a reading in ns, of the trial's wall time
  as_it_is,
  difference,       // the reading less the one before
  relative_change,  // the same, whatever its sign, as a share of the one before
};

struct Quantity {
  std::string_view name;     // "involuntary_switches_per_s"
  std::string_view unit;     // "1/s", "C"; "": a share or a number
  std::string_view reading;  // of a trial: "context-switches-involuntary"
  std::string_view before;   // of difference and relative_change, else ""
  Take take;
  std::string_view meaning;
};

std::span<const Quantity> quantities();
// Null: there is none.
const Quantity* find_quantity(std::string_view name);
// May be below 0.
bool has_sign(const Quantity& quantity);

// The first of the plan's rules that looks at what one of these names counts: events of the plan, or
// readings that each trial has. Null: none does.
const Exclusion* rule_on(const Plan& plan, std::span<const std::string> names);

std::string_view to_string(Bound bound);  // ">"
bool catches(const Exclusion& rule, double value);

}  // namespace stab::plan
