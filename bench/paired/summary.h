// SPDX-License-Identifier: MIT
// From runs to ratios, and both as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/paired/median.h"
#include "bench/paired/program.h"
#include "bench/paired/rounds.h"

namespace stab::bench {

// What is taken of two runs of one round.
enum class Scale { ratio, difference };  // differences in seconds

struct Outcome {
  std::string title{};  // "on/off"
  std::optional<Median> cpu{};
  std::optional<Median> user{};
  std::optional<Median> wall{};
};

struct ArmTimes {
  std::string name{};
  std::optional<Median> cpu{};
  std::optional<Median> wall{};
};

struct ProgramSummary {
  std::string name{};
  std::vector<ArmTimes> arms{};
  std::vector<Outcome> outcomes{};  // in the order of the comparisons
};

struct Summary {
  Scale scale = Scale::ratio;
  std::vector<ProgramSummary> programs{};
  std::vector<Outcome> overall{};  // the median of the programs' medians, by title
  std::size_t problems = 0;        // runs that failed; their pairs are left out
};

Summary summarise(const std::vector<Program>& programs, const std::vector<Execution>& runs,
                  Scale scale, double alpha);

std::string to_text(const Summary& summary);

// The summary and every run.
nlohmann::json to_json(const Summary& summary, const std::vector<Program>& programs,
                       const std::vector<Execution>& runs);

}  // namespace stab::bench
