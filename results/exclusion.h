// SPDX-License-Identifier: MIT
// Decides by a plan's rules whether a trial was disturbed, and counts what the rules excluded from
// an experiment, for its report. Pure: the decision depends on the trial's readings and on its wall
// time as a denominator, never on a response.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/readings.h"
#include "plan/plan.h"
#include "report/model.h"
#include "stats/verdicts/dependence.h"
#include "store/records.h"

namespace stab::exclusion {

// Readings that mark() adds: the number of the rule that caught the trial, counted from 1, and the
// value.
inline constexpr std::string_view rule_reading = "exclude-rule";
inline constexpr std::string_view value_reading = "exclude-value";

// A quantity's value, or the reason why it is absent.
using Value = std::expected<double, std::string>;
Value value_of(const plan::Quantity& quantity, std::span<const counters::Reading> readings,
               std::optional<std::int64_t> wall_ns);

struct Judgement {
  struct Caught {
    std::size_t rule = 0;
    double value = 0;
  };
  std::optional<Caught> caught{};   // the first rule that catches the trial
  std::vector<std::size_t> open{};  // rules that cannot be judged, because their quantity is absent
};
// A rule whose quantity is absent catches no trial.
Judgement judge(std::span<const plan::Exclusion> rules, const store::Trial& trial);

// If a rule catches a successful trial that is not a warm-up, makes its status disturbed and adds
// the two readings above.
void mark(std::span<const plan::Exclusion> rules, store::Trial& trial);

// The index of the rule that caught a disturbed trial, from 0; nothing if the row does not say.
std::optional<std::size_t> rule_of(const store::Trial& trial);

// Whether the row agrees with mark(): the rule that a disturbed trial names catches it, and no rule
// catches any other successful trial.
bool is_marked_right(std::span<const plan::Exclusion> rules, const store::Trial& trial);

class Tally {
 public:
  // Keeps a reference to the plan.
  explicit Tally(const plan::Plan& plan) : plan_(plan), rules_(plan.exclude.size()) {}

  // Call it for each attempt at a measured trial, in the order of positions and attempts. `cell`:
  // the trial's benchmark and levels as text. Returns true for the position's first attempt that
  // succeeded, disturbed or not: it is the attempt that would count without the rules.
  bool add(const store::Trial& trial, const std::string& cell);

  // The members that need an analysis are left empty.
  [[nodiscard]] report::Exclusions result() const;

 private:
  struct Cell {
    std::uint32_t number = 0;
    std::uint64_t judged = 0;
    std::uint64_t disturbed = 0;
  };
  struct Rule {
    std::uint64_t caught = 0;
    std::uint64_t open = 0;
  };

  const plan::Plan& plan_;
  std::vector<Rule> rules_;
  std::map<std::string, Cell> cells_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> strata_;  // benchmark and block
  std::vector<stats::Marked> first_;       // each position's first success, if it could be judged
  std::optional<std::uint32_t> position_;  // of the last success
  std::uint64_t attempts_ = 0;             // disturbed attempts
  std::uint64_t lost_ = 0;                 // positions whose last attempt is disturbed
};

}  // namespace stab::exclusion
