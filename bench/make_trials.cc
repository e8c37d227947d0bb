// SPDX-License-Identifier: MIT
// make_trials STATE TRIALS [STATE_OF_EXPERIMENT [READINGS [SAMPLES [UID]]]]: adds an experiment to
// the database in the folder STATE, and prints its id. The experiment belongs to the user UID
// (default: root). It has at least TRIALS trials, which look as if they had been run. Each trial
// has READINGS readings (default: 5). If SAMPLES is above 0 (default: 0), each trial has SAMPLES
// samples of each of twenty benchmarks of Google Benchmark, and these benchmarks are the response.
// Measurements and tests of reading many trials use this program.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/random.h"
#include "design/trial_list.h"
#include "plan/reading/read_plan.h"
#include "store/store.h"
#include "toml/value.h"

namespace {

using namespace stab;

constexpr std::size_t benchmarks = 10;
constexpr std::size_t at_once = 1000;

constexpr std::size_t of_program = 20;  // benchmarks with samples

std::string plan_text(std::size_t repetitions, bool samples) {
  std::string text = fmt::format(
      "[experiment]\nname = \"many\"\nseed = 3\n[defaults]\nrepetitions = {}\n", repetitions);
  for (std::size_t i = 0; i < benchmarks; ++i)
    text += fmt::format("[[benchmark]]\nname = \"b{}\"\nrun = [\"/bin/true\", \"${{X}}\"]\n", i);
  if (samples)
    text +=
        "[[measure.output]]\nname = \"time\"\ngoogle_benchmark = \"real_time\"\n"
        "[analysis]\nresponse = \"time\"\n";
  return text + "[factor.opt]\nlevels = { O2 = { X = \"2\" }, O3 = { X = \"3\" } }\n";
}

counters::Reading reading(const char* name, std::int64_t value) {
  return {.name = name, .status = counters::Status::counted, .value = value, .reason = ""};
}

store::Trial row_of(const plan::Plan& plan, const plan::Trial& trial, store::Id experiment,
                    std::size_t readings, Random& random) {
  store::Trial row{.experiment = experiment,
                   .position = trial.position,
                   .block = trial.block,
                   .warmup = trial.warmup,
                   .benchmark = plan.benchmarks[trial.benchmark].name,
                   .levels = {{plan.factors[0].name, trial.levels[0].name}},
                   .seed = trial.seed,
                   .status = store::TrialStatus::ok,
                   .exit_code = 0};
  const auto noise = static_cast<std::int64_t>(random.below(20'000));
  row.started_ns = 1'700'000'000'000'000'000 + std::int64_t{2'000'000} * trial.position;
  row.wall_ns = 1'000'000 + 100'000 * std::int64_t{trial.benchmark} + noise;
  row.user_ns = *row.wall_ns - 100'000;
  row.system_ns = 50'000;
  row.max_rss_bytes = 4'000'000;
  row.stdout_sha256 = std::string(64, 'e');
  row.readings = {reading("task-clock", *row.wall_ns), reading("page-faults", 50),
                  reading("context-switches", 1), reading("spawn-ns", 300'000),
                  reading("commit-before-ns", 90'000 + noise)};
  row.readings.resize(std::min(readings, row.readings.size()));
  while (row.readings.size() < readings)
    row.readings.push_back(
        reading(fmt::format("counter-number-{}", row.readings.size()).c_str(), *row.wall_ns));
  return row;
}

void add_samples(store::Trial& row, std::size_t samples, Random& random) {
  for (std::size_t i = 0; samples > 0 && i < of_program; ++i) {
    counters::Samples& each = row.samples.emplace_back();
    each = {.measure = "time", .subject = fmt::format("BM_operation/{}", 8 << i), .unit = "ns"};
    while (each.values.size() < samples)
      each.values.push_back(1000 + static_cast<double>(random.below(1'000'000'000)) / 3e7);
  }
}

Result<store::Id> make(const std::string& folder, std::size_t count, const std::string& state,
                       std::size_t readings, std::size_t samples, std::uint32_t uid) {
  const std::string text = plan_text((count + 2 * benchmarks - 1) / (2 * benchmarks), samples > 0);
  const auto plan = plan::read_plan(text);
  if (!plan) return fail(toml::describe(plan.error(), "plan"));
  const plan::Expansion expansion = plan::expand(*plan);
  std::filesystem::create_directories(folder);
  auto store = store::Store::open(folder + "/stabd.db");
  if (!store) return fail(store.error().message);
  const auto id = (*store)->add_experiment({.name = plan->name,
                                            .plan = text,
                                            .directory = folder,
                                            .uid = uid,
                                            .gid = uid,
                                            .state = state,
                                            .submitted_ns = 1,
                                            .trials = expansion.trials.size()});
  if (!id) return fail(id.error().message);
  Random random(7);
  std::vector<store::Trial> rows;
  for (const plan::Trial& trial : expansion.trials) {
    rows.push_back(row_of(*plan, trial, *id, readings, random));
    add_samples(rows.back(), samples, random);
    if (rows.size() < at_once && trial.position + 1 < expansion.trials.size()) continue;
    if (auto added = (*store)->add_trials(rows); !added) return fail(added.error().message);
    rows.clear();
  }
  return *id;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (count == 0 || argc > 7) {
    fmt::print(stderr,
               "make_trials: say a folder and a number of trials: make_trials STATE 1000\n");
    return 2;
  }
  const auto id =
      make(argv[1], count, argc > 3 ? argv[3] : "done",
           argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 5,
           argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 0,
           static_cast<std::uint32_t>(argc > 6 ? std::strtoul(argv[6], nullptr, 10) : 0));
  if (!id) {
    fmt::print(stderr, "make_trials: {}\n", id.error().message);
    return 1;
  }
  fmt::print("{}\n", *id);
  return 0;
}
