// SPDX-License-Identifier: MIT
// Measures how often verdicts are wrong if there is a control, and how much power the control
// costs. Simulates experiments whose truth is known, on machines that disturb them, and stores them
// as a daemon does. Asks `stabctl report` about each experiment:
//   build/bench/control_soundness build/bin/stabctl [EXPERIMENTS] [--only TEXT] [--nothing-only |
//   --short]
// Prints a row for each machine and plan: with and without a control, each also with a sequential
// rule that decides five times. Further rows combine the machines. Exits with 1 if verdicts are
// wrong in surely more than 5 % of a row's experiments, or if a verdict contradicts the control's
// interval in any experiment. --short plants no change of 1 %, and also combines the plans. Then
// few experiments for each machine and plan are enough to show that verdicts are wrong in general.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/verdicts/told.h"
#include "design/trial_list.h"
#include "plan/reading/read_plan.h"
#include "stats/verdicts/calibration.h"
#include "store/store.h"

namespace {

using namespace stab;
using Json = nlohmann::json;

constexpr double margin = 0.01;

enum class Machine { calm, related, outliers, steps, two_states };
struct World {
  Machine machine;
  const char* name;
};
constexpr std::array worlds{World{Machine::calm, "independent, sd 1 %"},
                            World{Machine::related, "AR 0.5, sd 1 %"},
                            World{Machine::outliers, "1 % of trials take three times as long"},
                            World{Machine::steps, "steps of 5 %, one in 50 trials"},
                            World{Machine::two_states, "two states, 10 % apart"}};

struct Kind {
  bool control;
  bool looks;
  const char* name;
};
constexpr std::array kinds{Kind{true, false, "control"}, Kind{false, false, "none"},
                           Kind{true, true, "control, 5 looks"},
                           Kind{false, true, "none, 5 looks"}};
constexpr std::array<std::uint32_t, 5> looks{10, 20, 30, 40, 50};  // as the rule below places them

std::string plan_of(Kind kind, std::uint64_t seed) {
  return fmt::format(
      "[experiment]\nname = \"c\"\nseed = {}\n{}[[benchmark]]\nname = \"b\"\nrun = [\"/bin/true\", "
      "\"${{X}}\"]\n[factor.version]\nlevels = {{ old = {{ X = \"1\" }}, new = {{ X = \"2\" }}{} "
      "}}\n"
      "[design]\nkind = \"one-way\"\n{}[analysis]\nequivalence = \"1%\"\n{}",
      seed, kind.looks ? "" : "[defaults]\nrepetitions = 30\n",
      kind.control ? ", again = { X = \"3\" }" : "",
      kind.looks ? "stop = { rule = \"sequential\", min = 10, max = 50, looks = 5 }\n" : "",
      kind.control ? "control = \"again\"\n" : "");
}

// How much longer than without disturbance each trial takes, in logarithms and in order.
class Disturbance {
 public:
  Disturbance(Machine machine, std::uint64_t seed) : machine_(machine), engine_(seed) {}
  double next() {
    const double own = 0.01 * normal_(engine_);
    switch (machine_) {
      case Machine::calm:
        return own;
      case Machine::related:
        last_ = 0.5 * last_ + std::sqrt(0.75) * own;
        return last_;
      case Machine::outliers:
        return own + (chance(0.01) ? std::log(3.0) : 0);
      case Machine::steps:
        if (chance(0.02)) last_ += 0.05 * normal_(engine_);
        return own + last_;
      case Machine::two_states:
        if (chance(0.1)) last_ = 0.1 - last_;
        return own + last_;
    }
    return 0;
  }

 private:
  bool chance(double p) { return std::uniform_real_distribution<double>()(engine_) < p; }
  Machine machine_;
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  double last_ = 0;
};

struct Laboratory {
  std::string stabctl;
  std::string folder;
  store::Store& store;

  // What the report says at the end, or where the rule ends the experiment.
  Json report_of(Kind kind, Machine machine, std::uint64_t seed, double change) {
    const std::string text = plan_of(kind, seed);
    const auto plan = plan::read_plan(text);
    if (!plan) return nullptr;
    const plan::Expansion expansion = plan::expand(*plan);
    const bool ends_early = kind.looks;
    const auto id = store.add_experiment({.name = "c",
                                          .plan = text,
                                          .state = ends_early ? "running" : "done",
                                          .submitted_ns = 1,
                                          .trials = expansion.trials.size()});
    if (!id) return nullptr;
    Disturbance disturbance(machine, seed);
    std::vector<store::Trial> rows;
    const auto ask = [&] {
      if (!store.add_trials(rows)) return Json(nullptr);
      rows.clear();
      return bench::told_by(fmt::format("'{}' report {} --state {} --json", stabctl, *id, folder));
    };
    std::size_t look = 0;
    for (const plan::Trial& trial : expansion.trials) {
      if (ends_early && trial.block == looks[look]) {
        ++look;
        const Json seen = ask();
        if (!seen.is_object() || effect_of(seen, "new")["verdict"] != "unsure") return seen;
      }
      const std::string& level = trial.levels[0].name;
      rows.push_back({.experiment = *id,
                      .position = trial.position,
                      .block = trial.block,
                      .benchmark = "b",
                      .levels = {{"version", level}},
                      .seed = trial.seed,
                      .status = store::TrialStatus::ok,
                      .exit_code = 0,
                      .started_ns = 1,
                      .wall_ns = std::llround(
                          1e9 * std::exp(disturbance.next() + (level == "new" ? change : 0)))});
    }
    return ask();
  }

  static const Json& effect_of(const Json& report, std::string_view level) {
    static const Json nothing{{"verdict", "unsure"}};
    for (const Json& each : report["effects"])
      if (each["level"] == level) return each;
    return nothing;
  }
};

struct Counts {
  std::size_t wrong = 0;         // nothing differs: faster or slower
  std::size_t same = 0;          // nothing differs: same
  std::size_t at_margin = 0;     // the change is the margin: same
  std::size_t found = 0;         // it is 1 %: slower
  std::size_t wrong_sign = 0;    // it is: faster
  std::size_t contradicted = 0;  // a verdict beside a control that says otherwise
  std::size_t experiments = 0;

  Counts& operator+=(const Counts& other) {
    wrong += other.wrong;
    same += other.same;
    at_margin += other.at_margin;
    found += other.found;
    wrong_sign += other.wrong_sign;
    contradicted += other.contradicted;
    experiments += other.experiments;
    return *this;
  }
};

bool contradicts(const Json& report) {
  const Json& effect = Laboratory::effect_of(report, "new");
  const Json& control = Laboratory::effect_of(report, "again");
  const std::string verdict = effect["verdict"];
  if (verdict == "unsure" || !control.contains("low")) return false;
  if (!control["low"].is_number()) return true;
  const double reach =
      std::max(control["high"].get<double>(), 1 / control["low"].get<double>()) - 1;
  const double ratio = effect["ratio"];
  return verdict == "same" ? reach > margin : std::max(ratio, 1 / ratio) - 1 <= reach;
}

struct Options {
  std::string stabctl{};
  std::size_t experiments = 1000;
  std::string only{};  // machines whose names contain it
  bool nothing_only = false;
  bool is_short = false;
};

Counts counts_of(Laboratory& laboratory, Kind kind, Machine machine, const Options& options,
                 std::uint64_t seed) {
  Counts counts{.experiments = options.experiments};
  for (std::size_t i = 0; i < options.experiments; ++i, seed += 3) {
    const auto asked = [&](std::uint64_t which, double change) {
      const Json report = laboratory.report_of(kind, machine, seed + which, change);
      if (!report.is_object()) {
        fmt::print(stderr, "no report of experiment {}\n", seed + which);
        std::exit(1);
      }
      counts.contradicted += contradicts(report) ? 1 : 0;
      return Laboratory::effect_of(report, "new")["verdict"].get<std::string>();
    };
    const std::string nothing = asked(1, 0);
    counts.wrong += nothing == "faster" || nothing == "slower" ? 1 : 0;
    counts.same += nothing == "same" ? 1 : 0;
    if (options.nothing_only) continue;
    counts.at_margin += asked(2, std::log1p(margin)) == "same" ? 1 : 0;
    if (options.is_short) continue;
    const std::string differs = asked(3, 0.01);
    counts.found += differs == "slower" ? 1 : 0;
    counts.wrong_sign += differs == "faster" ? 1 : 0;
  }
  return counts;
}

// Prints a row. Returns whether its verdicts are sound, by tests of this one-sided level.
bool show(const char* machine, const char* kind, const Counts& counts, double alpha) {
  const auto share = [&](std::size_t n) {
    return 100 * static_cast<double>(n) / static_cast<double>(counts.experiments);
  };
  const auto exceeds = [&](std::size_t n) {
    const auto interval = stats::binomial_interval(n, counts.experiments, 2 * alpha);
    return interval && interval->low > 0.05;
  };
  const bool bad = exceeds(counts.wrong) || exceeds(counts.at_margin) || counts.contradicted > 0;
  fmt::print("| {} | {} | {:.2f} | {:.1f} | {:.2f} | {:.1f} | {:.2f} |{}\n", machine, kind,
             share(counts.wrong), share(counts.same), share(counts.at_margin), share(counts.found),
             share(counts.wrong_sign),
             counts.contradicted > 0 ? fmt::format(" <- {} contradict", counts.contradicted)
             : bad                   ? " <- wrong verdicts"
                                     : "");
  std::fflush(stdout);
  return !bad;
}

bool run(const Options& options) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / fmt::format("control-{}", getpid())).string();
  std::filesystem::create_directories(folder);
  fmt::print(
      "| machine | control | wrong verdict where nothing differs, % | same where nothing differs, "
      "% "
      "| same at the margin, % | 1 % found, % | wrong sign, % |\n|---|---|---|---|---|---|---|\n");
  // One of the tests of single machines and plans fails by chance in a hundredth of all runs.
  constexpr double sum_alpha = 0.01;
  constexpr double alpha = sum_alpha / static_cast<double>(2 * worlds.size() * kinds.size());
  constexpr std::uint64_t apart = 1'000'000;
  bool sound = true;
  std::array<Counts, kinds.size()> sums{};  // over the machines, by kind
  for (std::size_t w = 0; w < worlds.size(); ++w) {
    const World& world = worlds[w];
    if (!std::string_view(world.name).contains(options.only)) continue;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      // A database of its own, so that it stays small.
      std::filesystem::remove(folder + "/stabd.db");
      auto store = store::Store::open(folder + "/stabd.db");
      if (!store) return false;
      Laboratory laboratory{.stabctl = options.stabctl, .folder = folder, .store = **store};
      // Each plan sees the same noise, so that rows can be compared. Sums need other noise for each
      // machine, and for each plan if plans are added up.
      const std::uint64_t seed = apart * (w + (options.is_short ? worlds.size() * k : 0));
      const Counts counts = counts_of(laboratory, kinds[k], world.machine, options, seed);
      sound = show(world.name, kinds[k].name, counts, alpha) && sound;
      sums[k] += counts;
    }
  }
  std::filesystem::remove_all(folder);
  Counts all;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (sums[k].experiments == 0) continue;
    sound = show("all of these", kinds[k].name, sums[k], sum_alpha) && sound;
    all += sums[k];
  }
  if (options.is_short && all.experiments > 0)
    sound = show("all of these", "all of these", all, sum_alpha) && sound;
  return sound;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (i == 1)
      options.stabctl = word;
    else if (word == "--only" && i + 1 < argc)
      options.only = argv[++i];
    else if (word == "--nothing-only")
      options.nothing_only = true;
    else if (word == "--short")
      options.is_short = true;
    else
      options.experiments = std::strtoul(argv[i], nullptr, 10);
  }
  if (argc < 2 || options.experiments == 0) {
    fmt::print(stderr, "control_soundness: name a stabctl, and how many experiments\n");
    return 2;
  }
  return run(options) ? 0 : 1;
}
