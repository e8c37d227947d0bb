// SPDX-License-Identifier: MIT
#include "bench/paired/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace stab::bench {
namespace {

using Member = double Times::*;

// times[round][arm] of one program; only runs without a problem.
using Grid = std::map<std::size_t, std::map<std::size_t, Times>>;

Grid grid_of(std::size_t program, const std::vector<Execution>& runs) {
  Grid grid;
  for (const Execution& run : runs)
    if (run.program == program && run.problem.empty()) grid[run.round][run.arm] = run.times;
  return grid;
}

std::optional<Median> paired(const Grid& grid, const Comparison& comparison, Member member,
                             Scale scale, double alpha) {
  std::vector<double> values;
  for (const auto& [round, arms] : grid) {
    if (!arms.contains(comparison.arm) || !arms.contains(comparison.base)) continue;
    const double x = arms.at(comparison.arm).*member;
    const double y = arms.at(comparison.base).*member;
    values.push_back(scale == Scale::ratio ? x / y : x - y);
  }
  return median(values, alpha);
}

std::optional<Median> of_arm(const Grid& grid, std::size_t arm, Member member, double alpha) {
  std::vector<double> values;
  for (const auto& [round, arms] : grid)
    if (arms.contains(arm)) values.push_back(arms.at(arm).*member);
  return median(values, alpha);
}

ProgramSummary summarise_program(const Program& program, const Grid& grid, Scale scale,
                                 double alpha) {
  ProgramSummary result;
  result.name = program.name;
  for (std::size_t arm = 0; arm < program.arms.size(); ++arm)
    result.arms.push_back({program.arms[arm].name, of_arm(grid, arm, &Times::cpu, alpha),
                           of_arm(grid, arm, &Times::wall, alpha)});
  for (const Comparison& comparison : program.comparisons) {
    auto value = [&](Member member) { return paired(grid, comparison, member, scale, alpha); };
    result.outcomes.push_back(
        {program.title(comparison), value(&Times::cpu), value(&Times::user), value(&Times::wall)});
  }
  return result;
}

std::optional<Median> over_programs(const std::vector<ProgramSummary>& programs,
                                    const std::string& title,
                                    std::optional<Median> Outcome::* member, double alpha) {
  std::vector<double> values;
  for (const ProgramSummary& program : programs)
    for (const Outcome& outcome : program.outcomes)
      if (outcome.title == title && outcome.*member) values.push_back((outcome.*member)->value);
  return median(values, alpha);
}

std::vector<Outcome> summarise_all(const std::vector<ProgramSummary>& programs, double alpha) {
  std::vector<Outcome> result;
  for (const ProgramSummary& program : programs)
    for (const Outcome& outcome : program.outcomes) {
      const std::string& title = outcome.title;
      if (std::ranges::find(result, title, &Outcome::title) != result.end()) continue;
      result.push_back({title, over_programs(programs, title, &Outcome::cpu, alpha),
                        over_programs(programs, title, &Outcome::user, alpha),
                        over_programs(programs, title, &Outcome::wall, alpha)});
    }
  return result;
}

std::string number(double value, Scale scale) {
  return scale == Scale::ratio ? fmt::format("{:.4f}", value) : fmt::format("{:+.3f}", value * 1e3);
}

std::string cell(const std::optional<Median>& median, Scale scale) {
  if (!median) return "-";
  if (!median->interval) return number(median->value, scale);
  return fmt::format("{} [{}, {}]", number(median->value, scale),
                     number(median->interval->low, scale), number(median->interval->high, scale));
}

std::string row(const std::string& name, const Outcome& outcome, Scale scale) {
  return fmt::format("{:<16} {:<12} {:<26} {:<26} {:<26}\n", name, outcome.title,
                     cell(outcome.cpu, scale), cell(outcome.user, scale),
                     cell(outcome.wall, scale));
}

nlohmann::json json_of(const std::optional<Median>& median) {
  if (!median) return nullptr;
  nlohmann::json result = {{"n", median->n}, {"median", median->value}};
  if (median->interval) {
    result["low"] = median->interval->low;
    result["high"] = median->interval->high;
    result["coverage"] = median->coverage;
  }
  return result;
}

nlohmann::json json_of(const Outcome& outcome) {
  return {{"compared", outcome.title},
          {"cpu", json_of(outcome.cpu)},
          {"user", json_of(outcome.user)},
          {"wall", json_of(outcome.wall)}};
}

nlohmann::json json_of(const ProgramSummary& program) {
  nlohmann::json result = {{"name", program.name}};
  for (const ArmTimes& arm : program.arms)
    result["seconds"][arm.name] = {{"cpu", json_of(arm.cpu)}, {"wall", json_of(arm.wall)}};
  for (const Outcome& outcome : program.outcomes) result["outcomes"].push_back(json_of(outcome));
  return result;
}

}  // namespace

Summary summarise(const std::vector<Program>& programs, const std::vector<Execution>& runs,
                  Scale scale, double alpha) {
  Summary summary;
  summary.scale = scale;
  for (std::size_t i = 0; i < programs.size(); ++i)
    summary.programs.push_back(summarise_program(programs[i], grid_of(i, runs), scale, alpha));
  summary.overall = summarise_all(summary.programs, alpha);
  summary.problems = static_cast<std::size_t>(
      std::ranges::count_if(runs, [](const Execution& run) { return !run.problem.empty(); }));
  return summary;
}

std::string to_text(const Summary& summary) {
  std::string text = "median CPU time of each arm, ms\n";
  for (const ProgramSummary& program : summary.programs) {
    text += fmt::format("{:<16}", program.name);
    for (const ArmTimes& arm : program.arms)
      text += arm.cpu ? fmt::format("  {} {:.1f}", arm.name, arm.cpu->value * 1e3)
                      : fmt::format("  {} -", arm.name);
    text += '\n';
  }
  const bool ratio = summary.scale == Scale::ratio;
  text += ratio ? "\nmedians of paired ratios" : "\nmedians of paired differences, ms";
  text += fmt::format("\n{:<16} {:<12} {:<26} {:<26} {:<26}\n", "program", "compared", "CPU time",
                      "user time", "wall time");
  for (const ProgramSummary& program : summary.programs)
    for (const Outcome& outcome : program.outcomes)
      text += row(program.name, outcome, summary.scale);
  for (const Outcome& outcome : summary.overall)
    if (outcome.cpu && outcome.cpu->interval)  // of a few programs it says nothing
      text += row(fmt::format("median of {}", outcome.cpu->n), outcome, summary.scale);
  if (summary.problems > 0)
    text += fmt::format("\n{} runs failed; they count nowhere above\n", summary.problems);
  return text;
}

nlohmann::json to_json(const Summary& summary, const std::vector<Program>& programs,
                       const std::vector<Execution>& runs) {
  nlohmann::json result = {{"scale", summary.scale == Scale::ratio ? "ratio" : "seconds"},
                           {"problems", summary.problems}};
  for (const ProgramSummary& program : summary.programs)
    result["programs"].push_back(json_of(program));
  for (const Outcome& outcome : summary.overall) result["overall"].push_back(json_of(outcome));
  for (const Execution& run : runs)
    result["runs"].push_back({{"program", programs[run.program].name},
                              {"round", run.round},
                              {"arm", programs[run.program].arms[run.arm].name},
                              {"variant", run.variant},
                              {"seed", run.seed},
                              {"cpu", run.times.cpu},
                              {"user", run.times.user},
                              {"wall", run.times.wall},
                              {"problem", run.problem}});
  return result;
}

}  // namespace stab::bench
