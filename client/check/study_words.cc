// SPDX-License-Identifier: MIT
#include "client/check/study_words.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "design/fractional.h"

namespace stab::client {
namespace {

using plan::DesignKind;

std::string calibration_words(const plan::Plan& plan) {
  const std::uint32_t comparisons = plan.design.comparisons;
  return fmt::format(
      "A/A comparisons: {} of each benchmark, of {} blocks each; the model below is for one of "
      "them",
      comparisons, plan.benchmarks.front().repetitions / comparisons);
}

std::string padding_words(const plan::Plan& plan) {
  for (const plan::Factor& factor : plan.factors)
    if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels))
      return fmt::format(
          "both arms get the same {} seeds of {}, {} runs each; each seed gives one value",
          seeds->seeds, factor.name, seeds->runs);
  return "";
}

std::string causal_words(const plan::Plan& plan) {
  return fmt::format(
      "causal profile: each trial is a run under the profiler, in experiments of {}{}; virtual "
      "pauses make the run longer",
      plan.causal.end_to_end ? "a run" : format_duration(plan.causal.experiment),
      plan.causal.end_to_end ? "" : " and more");
}

std::vector<std::string> fraction_words(const plan::FractionalDesign& design) {
  std::vector<std::string> lines{
      fmt::format("fraction: {} of {} cells, resolution {}", design.cells.size(),
                  std::size_t{1} << design.treatments.size(), design.resolution)};
  for (const std::string& line : plan::defining_relation(design)) lines.push_back("  " + line);
  return lines;
}

}  // namespace

std::vector<std::string> study_words(const plan::Plan& plan) {
  if (plan.design.kind == DesignKind::calibration) return {calibration_words(plan)};
  if (plan.design.kind == DesignKind::padding_study) return {padding_words(plan)};
  if (plan.is_causal()) return {causal_words(plan)};
  if (const auto design = plan::fraction(plan)) return fraction_words(*design);
  return {};
}

}  // namespace stab::client
