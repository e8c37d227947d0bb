// SPDX-License-Identifier: MIT
#include "results/calibrations.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "base/hash.h"
#include "plan/reading/read_plan.h"
#include "report/words/answer.h"
#include "report/words/quantity.h"
#include "results/document.h"
#include "results/trials.h"

namespace stab::results {
namespace {

using store::CalibrationScope;

bool has_calibrated_size(const stats::Effect& effect, const stats::Spec& spec,
                         const report::NoiseFloor& floor) {
  return effect.scope == stats::Scope::subject && effect.unit == spec.block &&
         static_cast<std::int64_t>(effect.units) == floor.blocks;
}

store::Calibration row_of(const stats::Floor& floor, CalibrationScope scope,
                          const stats::Analysis& analysis, const store::Experiment& experiment,
                          const std::string& response) {
  store::Calibration row{.machine = experiment.machine,
                         .experiment = experiment.id,
                         .name = experiment.name,
                         .at_ns = experiment.started_ns,
                         .scope = scope,
                         .benchmark = floor.subject,
                         .response = response,
                         .alpha = analysis.spec.alpha};
  const stats::Calibration& calibration = *analysis.calibration;
  row.blocks = static_cast<std::int64_t>(calibration.blocks);
  row.benchmarks = scope == CalibrationScope::benchmark
                       ? 1
                       : static_cast<std::int64_t>(calibration.benchmarks.size());
  row.comparisons = static_cast<std::int64_t>(floor.comparisons);
  row.significant = static_cast<std::int64_t>(floor.significant);
  row.margin = floor.margin;
  if (floor.interval) {
    row.margin_low = floor.interval->low;
    row.margin_high = floor.interval->high;
  }
  return row;
}

}  // namespace

std::string calibrated_name(const plan::Plan& plan, const std::string& response) {
  constexpr std::size_t digits = 12;
  const std::string definition = definition_of(plan, response);
  if (definition.empty()) return response;
  return fmt::format("{} ({})", response, sha256_hex(definition).substr(0, digits));
}

namespace {

// The user whose experiment the calibration was; nothing if the store does not have that
// experiment.
store::Outcome<std::optional<std::uint32_t>> owner_of(store::Reader& store,
                                                      const store::Calibration& row) {
  if (row.experiment == 0) return std::nullopt;
  const auto experiment = store.experiment(row.experiment);
  if (!experiment) return std::unexpected(experiment.error());
  return *experiment ? std::optional((*experiment)->uid) : std::nullopt;
}

}  // namespace

std::vector<store::Calibration> calibration_rows(const stats::Analysis& analysis,
                                                 const store::Experiment& experiment,
                                                 const std::string& response) {
  std::vector<store::Calibration> rows;
  if (!analysis.calibration || experiment.machine == 0) return rows;
  const auto add = [&](const stats::Floor& floor, CalibrationScope scope) {
    if (floor.comparisons > 0) rows.push_back(row_of(floor, scope, analysis, experiment, response));
  };
  for (const stats::Floor& floor : analysis.calibration->benchmarks)
    add(floor, CalibrationScope::benchmark);
  add(analysis.calibration->any, CalibrationScope::any);
  add(analysis.calibration->suite, CalibrationScope::suite);
  return rows;
}

store::Outcome<std::vector<store::Calibration>> calibration_of(
    store::Reader& store, const store::Experiment& experiment) {
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan || plan->design.kind != plan::DesignKind::calibration)
    return std::vector<store::Calibration>();
  const auto document = make_document(store, experiment, "");
  if (!document) return std::unexpected(store::StoreError{.message = document.error().message});
  return calibration_rows(document->analysis, experiment,
                          calibrated_name(*plan, plan->analysis.response));
}

store::Outcome<std::optional<report::NoiseFloor>> noise_floor_of(store::Reader& store,
                                                                 store::Id machine,
                                                                 const std::string& response,
                                                                 std::uint32_t user) {
  const auto rows = store.calibrations(machine);
  if (!rows) return std::unexpected(rows.error());
  std::optional<report::NoiseFloor> latest;
  for (const store::Calibration& row : *rows) {
    if (row.scope != CalibrationScope::any || row.response != response || !row.margin) continue;
    const auto owner = owner_of(store, row);
    if (!owner) return std::unexpected(owner.error());
    const bool counts =
        row.experiment == 0 || *owner == user || *owner == 0U || *owner == geteuid();
    if (counts)
      latest = report::NoiseFloor{.calibration = row.name,
                                  .at_ns = row.at_ns,
                                  .alpha = row.alpha,
                                  .blocks = row.blocks,
                                  .benchmarks = row.benchmarks,
                                  .comparisons = row.comparisons,
                                  .significant = row.significant,
                                  .margin = *row.margin,
                                  .low = row.margin_low,
                                  .high = row.margin_high,
                                  .by_user = *owner,
                                  .by_same_user = *owner == user};
  }
  return latest;
}

bool floor_holds(const stats::Analysis& analysis, const report::NoiseFloor& floor) {
  bool any = false;
  for (const stats::Effect& effect : analysis.effects) {
    if (effect.scope != stats::Scope::subject || !effect.p) continue;
    if (!has_calibrated_size(effect, analysis.spec, floor)) return false;
    any = true;
  }
  return any;
}

std::string below_the_floor(const stats::Analysis& analysis, const report::NoiseFloor& floor) {
  constexpr std::size_t shown = 8;
  std::string text;
  std::size_t count = 0;
  for (const stats::Effect& effect : analysis.effects) {
    const bool decided =
        effect.verdict == stats::Verdict::faster || effect.verdict == stats::Verdict::slower;
    if (!decided || !has_calibrated_size(effect, analysis.spec, floor)) continue;
    if (!effect.ratio || !(*effect.ratio > 0)) continue;
    if (std::abs(std::log(*effect.ratio)) > std::log1p(floor.margin)) continue;
    if (++count > shown) continue;
    text +=
        fmt::format("{}{} {} {} ({})", text.empty() ? "" : ", ", effect.subject, effect.treatment,
                    effect.level, report::percent_change(*effect.ratio, effect.low, effect.high));
  }
  if (count > shown) text += fmt::format(" and {} more", count - shown);
  if (text.empty()) return "";
  return fmt::format(
      "Some changes with a verdict are below this machine's noise floor of {}: {}. In the "
      "calibration, equal programs differed by less than this floor in {} of the comparisons. {}",
      report::margin_words(floor.margin), text, report::level_text(floor.alpha),
      analysis.spec.control.empty()
          ? fmt::format("This run has no control ('analysis.control') that rules out such a "
                        "difference here; use more than {} blocks to find out whether the changes "
                        "are real.",
                        floor.blocks)
          : "In this run, the control decides, and these changes are larger than every change in "
            "the control's interval.");
}

}  // namespace stab::results
