// SPDX-License-Identifier: MIT
// What a plan can see before it runs: the smallest change of each treatment that its analysis finds
// with 80 % power, given how much trials vary.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::client {

inline constexpr double planned_power = 0.8;

// Relative standard deviations.
struct Variation {
  std::map<std::string, double> trials{};   // of a benchmark's trials within a cell and block
  std::optional<double> all_trials{};       // of benchmarks that are not in `trials`
  std::map<std::string, double> effects{};  // of a treatment's change, between benchmarks
  std::map<std::string, double>
      changes{};  // of a benchmark's change, between a padding study's seeds
};

// From the report of an earlier experiment (doc/protocol.md), if it measured the same response on
// the log scale; else nothing is known.
Variation variation_of(const nlohmann::json& report, const plan::Plan& plan);

struct Detectable {
  std::string benchmark{};  // "" : all of them
  std::string treatment{};
  double sd = 0;      // that it is computed from
  double change = 0;  // 0.012: 1.2 %
};

// Of full-factorial, one-way and fractional designs and padding studies for each benchmark, of
// designs within subjects over all benchmarks. What is not known or belongs to another design is
// left out.
std::vector<Detectable> detectable(const plan::Plan& plan, const Variation& variation);

// How many blocks a plan that stops by precision will probably take: in half of all experiments its
// rule is met by then. Nothing for other plans, or where nothing is known.
std::optional<std::size_t> blocks_for_precision(const plan::Plan& plan, const Variation& variation);

}  // namespace stab::client
