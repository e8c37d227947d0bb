// SPDX-License-Identifier: MIT
// Measures how often the interval of the cost of random layouts has the truth, and what plain
// trials cost comparisons. Stores experiments whose truth is known, as a daemon stores them, and
// asks `stabctl report` about each experiment:
//   build/bench/cost_soundness build/bin/stabctl [EXPERIMENTS]
// Prints a row for each number of programs and blocks: how often the interval of the cost has the
// truth, how wide it is, and how often a change of the second level is found with and without plain
// trials. Exits with 1 if an interval has the truth in surely less than 95 % of the experiments, or
// if fewer than four blocks have an interval.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/verdicts/told.h"
#include "design/trial_list.h"
#include "plan/reading/read_plan.h"
#include "stats/verdicts/calibration.h"
#include "store/store.h"

namespace {

using namespace stab;
using Json = nlohmann::json;

constexpr double truth = 1.03;    // of the cost
constexpr double change = 0.012;  // of the second level, in logarithms
constexpr double noise = 0.02;    // of a trial

std::string plan_of(std::size_t programs, int blocks, bool cost, std::uint64_t seed) {
  std::string text = fmt::format(
      "[experiment]\nname = \"c\"\nseed = {}\n[defaults]\nrepetitions = {}\n", seed, blocks);
  for (std::size_t i = 0; i < programs; ++i)
    text += fmt::format("[[benchmark]]\nname = \"b{}\"\nrun = [\"/bin/true\", \"${{X}}\"]\n", i);
  return text + fmt::format(
                    "[factor.x]\nlevels = {{ a = {{ X = \"1\" }}, b = {{ X = \"2\" }} }}\n"
                    "[design]\nkind = \"{}\"\n[analysis]\nresponse = \"cpu\"\ncost = {}\n{}",
                    programs > 1 ? "within-subjects" : "one-way", cost,
                    programs > 1 ? "programs = \"these\"\n" : "");
}

class Laboratory {
 public:
  Laboratory(std::string stabctl, std::string folder, store::Store& store)
      : stabctl_(std::move(stabctl)), folder_(std::move(folder)), store_(store) {}

  // Each block has its own speed, and each trial its own layout.
  Json report_of(std::size_t programs, int blocks, bool cost, std::uint64_t seed) {
    const std::string text = plan_of(programs, blocks, cost, seed);
    const auto plan = plan::read_plan(text);
    if (!plan) return nullptr;
    const plan::Expansion expansion = plan::expand(*plan);
    const auto id = store_.add_experiment({.name = "c",
                                           .plan = text,
                                           .state = "done",
                                           .submitted_ns = 1,
                                           .trials = expansion.trials.size()});
    if (!id) return nullptr;
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    std::map<std::uint32_t, double> speeds;  // by block
    std::vector<store::Trial> rows;
    for (const plan::Trial& trial : expansion.trials) {
      const double speed = speeds.try_emplace(trial.block, 0.05 * normal(engine)).first->second;
      const double own = noise * normal(engine) + (trial.cell == 1 ? change : 0) +
                         (trial.plain ? 0 : std::log(truth));
      store::Trial row{.experiment = *id,
                       .position = trial.position,
                       .block = trial.block,
                       .benchmark = plan->benchmarks[trial.benchmark].name,
                       .levels = {{"x", trial.levels[0].name}},
                       .seed = trial.seed,
                       .status = store::TrialStatus::ok,
                       .exit_code = 0,
                       .started_ns = 1,
                       .wall_ns = 1,
                       .user_ns = std::llround(1e9 * std::exp(speed + own)),
                       .system_ns = 0};
      if (trial.plain)
        row.levels = {{plan::plain_column, plan::plain_level}};
      else
        row.layout = {.randomized = true, .random_code = true};
      rows.push_back(std::move(row));
    }
    if (!store_.add_trials(rows)) return nullptr;
    return bench::told_by(fmt::format("'{}' report {} --state {} --json", stabctl_, *id, folder_));
  }

 private:
  std::string stabctl_;
  std::string folder_;
  store::Store& store_;
};

bool has_found(const Json& report) {
  return report["verdict"] == "slower";
}

struct Counts {
  std::size_t right = 0;
  std::size_t without_interval = 0;
  std::size_t found = 0;
  std::size_t found_without = 0;
  std::vector<double> widths{};
};

bool run(const std::string& stabctl, std::size_t experiments) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / fmt::format("cost-{}", getpid())).string();
  std::filesystem::create_directories(folder);
  fmt::print(
      "| programs | blocks | intervals with the truth, % | median half width, % | change found, % "
      "| found without plain trials, % |\n|---|---|---|---|---|---|\n");
  constexpr std::array<std::size_t, 2> numbers_of_programs{1, 3};
  constexpr std::array numbers_of_blocks{15, 20, 50, 100};
  // One of the tests fails by chance in a hundredth of all runs.
  constexpr double alpha = 0.01 / (numbers_of_programs.size() * (numbers_of_blocks.size() - 1));
  bool sound = true;
  std::uint64_t seed = 0;
  for (const std::size_t programs : numbers_of_programs)
    for (const int blocks : numbers_of_blocks) {
      std::filesystem::remove(folder + "/stabd.db");
      const auto store = store::Store::open(folder + "/stabd.db");
      if (!store) return false;
      Laboratory laboratory(stabctl, folder, **store);
      Counts counts;
      for (std::size_t i = 0; i < experiments; ++i) {
        const Json report = laboratory.report_of(programs, blocks, true, ++seed);
        const Json without = laboratory.report_of(programs, blocks, false, seed);
        if (!report.is_object() || !without.is_object()) {
          fmt::print(stderr, "no report of experiment {}\n", seed);
          return false;
        }
        counts.found += has_found(report) ? 1U : 0U;
        counts.found_without += has_found(without) ? 1U : 0U;
        const Json& cost = report["cost"];
        if (!cost.is_object() || !cost["low"].is_number()) {
          ++counts.without_interval;
          continue;
        }
        const double low = cost["low"];
        const double high = cost["high"];
        counts.right += low <= truth && truth <= high ? 1U : 0U;
        counts.widths.push_back((high - low) / 2);
      }
      const bool is_enough =
          blocks >= static_cast<int>(plan::blocks_for_plain * plan::least_plain_trials);
      sound = sound && counts.without_interval == (is_enough ? 0 : experiments);
      const auto share = [&](std::size_t n) {
        return 100 * static_cast<double>(n) / static_cast<double>(experiments);
      };
      const auto interval = stats::binomial_interval(counts.right, experiments, 2 * alpha);
      const bool bad = is_enough && interval && interval->high < 0.95;
      sound = sound && !bad;
      std::ranges::sort(counts.widths);
      fmt::print("| {} | {} | {} | {} | {:.1f} | {:.1f} |{}\n", programs, blocks,
                 is_enough ? fmt::format("{:.1f}", share(counts.right)) : "none",
                 counts.widths.empty()
                     ? "none"
                     : fmt::format("{:.2f}", 100 * counts.widths[counts.widths.size() / 2]),
                 share(counts.found), share(counts.found_without), bad ? " <- too few" : "");
      std::fflush(stdout);
    }
  std::filesystem::remove_all(folder);
  return sound;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t experiments = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 400;
  if (argc < 2 || experiments == 0) {
    fmt::print(stderr, "cost_soundness: name a stabctl, and how many experiments\n");
    return 2;
  }
  return run(argv[1], experiments) ? 0 : 1;
}
