// SPDX-License-Identifier: MIT
// Measures whether verdicts on events that take turns (measure.rotate) are wrong as rarely as other
// verdicts. Stores experiments whose truth is known, as a daemon stores them, and asks
// `stabctl report` about each experiment:
//   build/bench/turns_soundness build/bin/stabctl [EXPERIMENTS]
// Exits with 1 if the verdicts on a number are wrong in surely more than 5 % of the experiments in
// which nothing differs, if changes are not found, or if `report --response` differs from the
// report of all numbers.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "bench/verdicts/told.h"
#include "design/trial_list.h"
#include "plan/reading/read_plan.h"
#include "stats/verdicts/calibration.h"
#include "store/store.h"

namespace {

using namespace stab;
using Json = nlohmann::json;

constexpr const char* plan_text = R"([experiment]
name = "turns"
seed = SEED
[defaults]
repetitions = 30
[[benchmark]]
name = "b"
run = ["/bin/true", "${X}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
[measure]
rotate = [["rare", "often"], ["often"], ["other"]]
[measure.derived]
both = "rare / often"
[analysis]
response = ["wall", "rare", "often", "both"]
)";
constexpr std::array numbers{"wall", "rare", "often", "both"};

std::string text_of(std::uint64_t seed) {
  std::string text = plan_text;
  return text.replace(text.find("SEED"), 4, std::to_string(seed));
}

// Blocks differ, levels differ from block to block, and trials do.
class Luck {
 public:
  explicit Luck(std::uint64_t seed) : engine_(seed) {}
  double operator()(double sd) { return normal_(engine_) * sd; }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

// `change`: of the second level, in logarithms. A derived number of two has none.
store::Id store_experiment(store::Store& store, std::uint64_t seed, double change) {
  const auto plan = plan::read_plan(text_of(seed)).value();
  const plan::Expansion expansion = plan::expand(plan);
  const auto id = store.add_experiment({.name = "turns",
                                        .plan = text_of(seed),
                                        .state = "done",
                                        .submitted_ns = 1,
                                        .trials = expansion.trials.size()});
  if (!id) return 0;
  Luck luck(seed);
  std::map<std::uint32_t, double> blocks;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> levels;
  std::vector<store::Trial> rows;
  for (const plan::Trial& trial : expansion.trials) {
    const double block = blocks.try_emplace(trial.block, luck(0.05)).first->second;
    const double level = levels.try_emplace({trial.block, trial.cell}, luck(0.01)).first->second;
    const auto number = [&](double mean) {
      return std::llround(mean *
                          std::exp(block + level + luck(0.01) + (trial.cell == 1 ? change : 0)));
    };
    store::Trial row{.experiment = *id,
                     .position = trial.position,
                     .block = trial.block,
                     .benchmark = "b",
                     .levels = {{"x", trial.levels[0].name}},
                     .seed = trial.seed,
                     .status = store::TrialStatus::ok,
                     .exit_code = 0,
                     .started_ns = 1,
                     .wall_ns = number(1e7)};
    for (const std::string& name : plan.rotated[*trial.set])
      row.readings.push_back(counters::counted(name, "", number(1e8)));
    if (trial.set == 0)
      row.readings.push_back(counters::counted(
          "both", "",
          counters::to_double(row.readings[0].value) / counters::to_double(row.readings[1].value)));
    rows.push_back(std::move(row));
  }
  return store.add_trials(rows) ? *id : 0;
}

bool decides(const Json& effects) {
  return effects[0]["verdict"] != "unsure" && effects[0]["verdict"] != "same";
}

// The effects of a number in the report of all.
const Json& effects_of(const Json& report, const std::string& number) {
  for (const Json& each : report["responses"])
    if (each["response"] == number) return each["effects"];
  return report["effects"];
}

struct Counts {
  std::size_t wrong = 0;
  std::size_t found = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t experiments = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000;
  if (argc < 2 || experiments == 0) {
    fmt::print(stderr, "turns_soundness: name a stabctl, and how many experiments\n");
    return 2;
  }
  const std::string folder =
      (std::filesystem::temp_directory_path() / fmt::format("turns-{}", getpid())).string();
  std::filesystem::create_directories(folder);
  std::map<std::string, Counts> counts;
  int different = 0;
  {
    auto store = store::Store::open(folder + "/stabd.db");
    if (!store) return 1;
    for (std::uint64_t seed = 1; seed <= 2 * experiments; ++seed) {
      const bool differs = seed % 2 == 0;
      const store::Id id = store_experiment(**store, seed, differs ? 0.05 : 0);
      const std::string command =
          fmt::format("'{}' report {} --state {} --json", argv[1], id, folder);
      const Json report = bench::told_by(command);
      if (!report.is_object()) return 1;
      for (const char* number : numbers) {
        const bool decided = decides(effects_of(report, number));
        (differs ? counts[number].found : counts[number].wrong) += decided ? 1 : 0;
      }
      if (seed > 20) continue;
      for (const char* number : numbers) {
        const Json own = bench::told_by(fmt::format("{} --response {}", command, number));
        different += own["effects"][0]["p"] == effects_of(report, number)[0]["p"] &&
                             own["analysis"]["response"] == number
                         ? 0
                         : 1;
      }
    }
  }
  std::filesystem::remove_all(folder);
  bool sound = different == 0;
  fmt::print("| number | wrong verdict where nothing differs, % | 5 % found, % |\n|---|---|---|\n");
  for (const char* number : numbers) {
    const auto [wrong, found] = counts[number];
    const double n = static_cast<double>(experiments);
    fmt::print("| {} | {:.2f} | {:.1f} |\n", number, 100 * static_cast<double>(wrong) / n,
               100 * static_cast<double>(found) / n);
    // One of these tests fails by chance in a hundredth of all runs.
    const auto share = stats::binomial_interval(wrong, experiments, 2 * 0.01 / numbers.size());
    sound = sound && !(share && share->low > 0.05);
    sound = sound && (number == std::string("both") || 2 * found > experiments);
  }
  if (different > 0) fmt::print("{} reports of one number say something else\n", different);
  return sound ? 0 : 1;
}
