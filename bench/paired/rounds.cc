// SPDX-License-Identifier: MIT
#include "bench/paired/rounds.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <numeric>

#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "machine/measured_run.h"
#include "machine/program.h"

namespace stab::bench {
namespace {

constexpr std::size_t warm_up_round = SIZE_MAX;
constexpr std::uint64_t output_limit = 256U << 20U;

std::string with_seed(std::string options, std::uint64_t seed) {
  constexpr std::string_view place = "{seed}";
  if (const auto at = options.find(place); at != std::string::npos)
    options.replace(at, place.size(), std::to_string(seed));
  return options;
}

Times times_of(const machine::Ended& ended) {
  using Seconds = std::chrono::duration<double>;
  return {Seconds(ended.user + ended.system).count(), Seconds(ended.user).count(),
          Seconds(ended.wall).count()};
}

std::string problem_of(const machine::Ended& ended, std::optional<std::string>& reference) {
  if (ended.how != machine::End::exited) return ended.reason;
  if (ended.exit_code != 0)
    return fmt::format("exit status {}: {}", ended.exit_code, one_line(ended.err, 200));
  const std::string digest = sha256_hex(ended.out);
  if (!reference) reference = digest;
  return digest == *reference ? "" : "the output differs from that of the first arm";
}

}  // namespace

Rounds::Rounds(const std::vector<Program>& programs, const Plan& plan,
               const machine::Topology& topology)
    : programs_(programs), plan_(plan), topology_(topology), references_(programs.size()) {}

Execution Rounds::run_one(std::size_t program, std::size_t round, std::size_t arm,
                          std::size_t variant) {
  const Program& what = programs_[program];
  const Variant& chosen = what.arms[arm].variants[variant];
  Execution run{program, round, arm, variant};
  run.seed = derive(plan_.seed, "run", {program, round, arm, variant});
  machine::Launch launch;
  launch.argv = chosen.command;
  auto variables = machine::base_variables(getuid());
  variables["LC_ALL"] = "C";
  variables["STABILIZER_OPTIONS"] = with_seed(chosen.options, run.seed);
  // The same stack position for all that is compared, another one in each round.
  const std::uint64_t extra = Random(derive(plan_.seed, "environment", {round})).below(256) * 16;
  launch.environment = machine::make_environment(std::move(variables), extra);
  launch.directory = what.directory;
  launch.stdin_path = what.stdin_path;
  launch.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(plan_.timeout * 1e9));
  launch.output_limit = output_limit;
  if (plan_.cpu) launch.bind = [&] { return topology_.bind(std::array{*plan_.cpu}).has_value(); };
  const machine::Ended ended = machine::run(launch);
  run.times = times_of(ended);
  run.problem = problem_of(ended, references_[program]);
  return run;
}

void Rounds::warm_up(std::size_t program, const std::function<void(const Execution&)>& on_run) {
  const auto& arms = programs_[program].arms;
  for (std::size_t arm = 0; arm < arms.size(); ++arm)
    on_run(run_one(program, warm_up_round, arm, 0));
}

std::vector<Execution> Rounds::run(const std::function<void(const Execution&)>& on_run) {
  std::vector<Execution> runs;
  for (std::size_t program = 0; program < programs_.size(); ++program) warm_up(program, on_run);
  for (std::size_t round = 0; round < plan_.rounds; ++round)
    for (std::size_t program = 0; program < programs_.size(); ++program) {
      const auto& arms = programs_[program].arms;
      std::vector<std::size_t> order(arms.size());
      std::iota(order.begin(), order.end(), 0);
      Random(derive(plan_.seed, "order", {program, round})).shuffle(std::span(order));
      for (const std::size_t arm : order) {
        runs.push_back(run_one(program, round, arm, round % arms[arm].variants.size()));
        on_run(runs.back());
      }
    }
  return runs;
}

}  // namespace stab::bench
