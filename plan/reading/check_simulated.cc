// SPDX-License-Identifier: MIT
// A plan whose trials run under a simulator asks for nothing that only real runs have.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/measures/formula.h"
#include "plan/measures/simulated.h"
#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

void refuse(Draft& draft, std::string_view what) {
  draft.problems.add(*draft.simulate_at, fmt::format("'measure.simulate' {}", what));
}

void check_number(const std::string& name, Position at, Draft& draft) {
  for (const std::string& part : parts_of(draft.plan, name))
    if (is_of_real_runs(part))
      draft.problems.add(
          at, fmt::format(
                  "{} cannot be measured under 'measure.simulate', because it would be the "
                  "simulator's: compare {}",
                  part == name ? shown(name) : fmt::format("{} of {}", shown(part), shown(name)),
                  fmt::join(simulated_names, ", ")));
}

void check_numbers(Draft& draft) {
  const bool given = draft.response_at.line != 0;
  const Position at = given ? draft.response_at : *draft.simulate_at;
  if (given)
    check_number(draft.plan.analysis.response, at, draft);
  else
    refuse(draft, "measures no wall time: add [analysis] response = \"simulated-instructions\"");
  for (const OtherResponse& each : draft.plan.analysis.others) check_number(each.name, at, draft);
  for (const DerivedMeasure& each : draft.plan.derived)
    check_number(each.name, *draft.simulate_at, draft);
}

void check_runtime(Draft& draft) {
  const auto is_repeated = [](std::string_view name, const Level& level) {
    return name == "period" || name == "budget" ||
           (name == "rerandomize" && level.name == "repeated");
  };
  constexpr std::string_view why =
      "gives programs built by szc only one layout per run, because layouts change with time: ";
  for (const auto& [name, level] : draft.plan.randomize)
    if (is_repeated(name, level))
      refuse(draft, fmt::format("{}leave out 'randomize.{}'", why, name));
  for (const DraftFactor& factor : draft.factors) {
    if (factor.value.kind == FactorKind::option &&
        (factor.value.name == "rerandomize" || is_repeated(factor.value.name, {})))
      refuse(draft, fmt::format("{}leave out the factor '{}'", why, factor.value.name));
    if (factor.value.kind == FactorKind::aslr)
      refuse(draft, "runs in the simulator's address space: leave out the factor 'aslr'");
  }
}

}  // namespace

void check_simulated(Draft& draft) {
  if (!draft.plan.simulated) return;
  const Plan& plan = draft.plan;
  check_numbers(draft);
  check_runtime(draft);
  if (!plan.counters.empty() || !plan.rotated.empty())
    refuse(draft,
           "does its own counting, and events would count the simulator: leave out "
           "'measure.counters' and 'measure.rotate'");
  if (!plan.profile.empty())
    refuse(draft, "measures no time to sample: leave out 'measure.profile'");
  if (std::ranges::any_of(plan.outputs, [](const OutputMeasure& each) {
        return each.google_benchmark.has_value();
      }))
    refuse(draft,
           "cannot be combined with Google Benchmark, which repeats its measurements by the clock");
  if (!plan.exclude.empty() || plan.wait_for_quiet || plan.quiesce != Quiesce::off)
    refuse(draft,
           "counts things that other programs cannot disturb: leave out 'exclude', "
           "'machine.wait_for_quiet' and 'machine.quiesce'");
  if (plan.aslr) refuse(draft, "runs in the simulator's address space: leave out 'machine.aslr'");
  if (std::ranges::any_of(draft.benchmarks,
                          [](const DraftBenchmark& each) { return each.value.memory_limit != 0; }))
    refuse(draft, "needs memory of its own, which the limit would count: leave out 'memory_limit'");
  if (std::ranges::any_of(draft.benchmarks,
                          [](const DraftBenchmark& each) { return each.value.file_limit != 0; }))
    refuse(draft, "writes files of its own, which the limit would stop: leave out 'file_limit'");
}

}  // namespace stab::plan
