// SPDX-License-Identifier: MIT
#include "report/json.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "report/json_analysis.h"
#include "report/json_causal.h"
#include "report/json_loads.h"
#include "report/or_null.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"

namespace stab::report {
namespace {

using Json = nlohmann::ordered_json;

// Increment this number when a field changes its meaning. doc/report.md describes all fields.
constexpr int json_format = 1;

Json layouts_of(const Layouts& layouts) {
  return {{"randomized", layouts.randomized},
          {"unrandomized", layouts.unrandomized},
          {"without_runtime", layouts.without_runtime},
          {"in_place", layouts.in_place},
          {"why_in_place", layouts.why_in_place},
          {"kinds", or_null(layouts.kinds)},
          {"least_share", or_null(layouts.least_share)},
          {"median_share", or_null(layouts.median_share)},
          {"median_epochs", or_null(layouts.median_epochs)},
          {"few_epochs", layouts.few_epochs},
          {"median_fixed_heap", or_null(layouts.median_fixed)},
          {"fixed_heaps", layouts.fixed_heaps}};
}

Json drawn_of(const std::vector<Drawn>& drawn) {
  Json all = Json::array();
  for (const Drawn& each : drawn)
    all.push_back(
        {{"what", each.what}, {"random", each.is_random}, {"why_not", or_null(each.why)}});
  return all;
}

Json outputs_of(const std::vector<Outputs>& outputs) {
  Json list = Json::array();
  for (const Outputs& each : outputs)
    list.push_back({{"benchmark", each.benchmark},
                    {"trials", each.trials},
                    {"different", each.different},
                    {"factors", each.factors},
                    {"cells", each.cells},
                    {"varying_cells", each.varying_cells}});
  return list;
}

Json stopping_of(const std::optional<Stopping>& stopping) {
  if (!stopping) return nullptr;
  return {{"rule", stopping->rule}, {"words", stopping->words},   {"fewest", stopping->fewest},
          {"most", stopping->most}, {"blocks", stopping->blocks}, {"alpha", stopping->alpha}};
}

Json exclusions_of(const std::optional<Exclusions>& exclusions, const stats::Spec& spec) {
  if (!exclusions) return nullptr;
  Json rules = Json::array();
  for (const Exclusions::Rule& rule : exclusions->rules) rules.push_back(row_json(rule_row(rule)));
  Json cells = Json::array();
  for (const Exclusions::Cell& cell : exclusions->cells)
    cells.push_back(row_json(excluded_cell_row(cell)));
  const auto listed = [&](const std::vector<stats::Effect>& list) {
    stats::Analysis analysis;
    analysis.spec = spec;
    analysis.effects = list;
    return effects_json(analysis);
  };
  return {{"rules", rules},
          {"disturbed", exclusions->disturbed},
          {"lost", exclusions->lost},
          {"cells", cells},
          {"p", or_null(exclusions->p)},
          {"depends_on_cell", exclusions->depends()},
          {"effects_without", listed(exclusions->without)},
          {"effects_vanished", listed(exclusions->vanished)}};
}

Json noise_json(const std::optional<NoiseFloor>& noise) {
  if (!noise) return nullptr;
  return {{"noise_floor", noise->margin},
          {"low", or_null(noise->low)},
          {"high", or_null(noise->high)},
          {"alpha", noise->alpha},
          {"blocks", noise->blocks},
          {"benchmarks", noise->benchmarks},
          {"comparisons", noise->comparisons},
          {"significant", noise->significant},
          {"calibration", noise->calibration},
          {"calibrated_ns", noise->at_ns},
          {"calibrated_by", or_null(noise->by_user)}};
}

Json responses_of(const std::vector<stats::Analysis>& others) {
  Json list = Json::array();
  for (const stats::Analysis& each : others) list.push_back(response_json(each));
  return list;
}

// For each cell, the output of 'stabctl causal --json', or the reason why it is absent.
Json causal_of(const Document& document) {
  if (!document.causal) return nullptr;
  Json list = Json::array();
  for (const CausalCell& cell : *document.causal) {
    Json each{{"cell", cell.name},
              {"benchmark", cell.benchmark},
              {"levels", cell.levels},
              {"reason", or_null(cell.reason)}};
    if (cell.analysis)
      each.update(causal_json(cell.profile, *cell.analysis, document.analysis.spec.alpha));
    list.push_back(std::move(each));
  }
  return list;
}

// For each group of loads, the output of 'stabctl causal --load --json', or the reason why it is
// absent.
Json causal_loads_of(const Document& document) {
  Json list = Json::array();
  for (const CausalLoads& each : document.causal_loads) {
    Json made{
        {"benchmark", each.benchmark}, {"levels", each.levels}, {"reason", or_null(each.reason)}};
    if (each.loads) made.update(loads_json(each.profile, *each.loads));
    list.push_back(std::move(made));
  }
  return list;
}

Json causes_of(const std::vector<FailureCause>& causes) {
  Json list = Json::array();
  for (const FailureCause& each : causes)
    list.push_back({{"why", each.why},
                    {"trials", each.trials},
                    {"cells", each.cells},
                    {"stderr", or_null(each.said)},
                    {"stderr_lines", each.last_lines}});
  return list;
}

std::string dumped(const Json& root) {
  return json_text(root, 2) + "\n";
}

}  // namespace

std::string analysis_json(const std::string& source, const stats::Analysis& analysis) {
  Json root{{"format", json_format},
            {"source", source},
            {"answer", answer(analysis)},
            {"verdict", verdict_json(analysis)}};
  add_analysis_json(root, analysis);
  return dumped(root);
}

std::string json(const Document& document) {
  return dumped(json_value(document));
}

Json json_value(const Document& document) {
  const stats::Analysis& analysis = document.analysis;
  Json root{{"format", json_format},
            {"experiment", document.experiment},
            {"id", document.id},
            {"question", or_null(document.question)},
            {"state", document.state},
            {"reason", or_null(document.reason)},
            {"answer", answer_of(document)},
            {"verdict", verdict_json(analysis)},
            {"simulated", document.simulated},
            {"machine", or_null(document.machine)},
            {"versions", or_null(document.versions)},
            {"load",
             {{"other_cpus_busy", or_null(document.load.others)},
              {"stolen_share", or_null(document.load.stolen)},
              {"known_trials", document.load.known},
              {"trials_kept_waiting", document.load.kept_waiting},
              {"busy", document.load.is_busy()}}},
            {"outputs", outputs_of(document.outputs)},
            {"quietness",
             {{"quiesce", or_null(document.quietness.asked)},
              {"found", or_null(document.quietness.found)},
              {"changed", or_null(document.quietness.changed)},
              {"not_made_quiet", or_null(document.quietness.loud)},
              {"waits", document.quietness.waits},
              {"waits_in_vain", document.quietness.waits_in_vain},
              {"waited_ns", document.quietness.waited_ns}}},
            {"noise_floor", noise_json(document.noise)},
            {"seed", document.seed},
            {"from_ns", document.from_ns},
            {"to_ns", document.to_ns},
            {"settings", document.settings},
            {"random", drawn_of(document.drawn)},
            {"branch", or_null(document.source.branch)},
            {"commit", or_null(document.source.commit)},
            {"trials",
             {{"planned", document.trials.planned},
              {"ok", document.trials.ok},
              {"failed", document.trials.failed},
              {"skipped", document.trials.skipped},
              {"disturbed", document.trials.disturbed}}},
            {"stopping", stopping_of(document.stopping)},
            {"exclusions", exclusions_of(document.exclusions, analysis.spec)},
            {"looked_early", document.looked_early},
            {"layouts", layouts_of(document.layouts)},
            {"counters", rows_json(counters_section(document.counters))},
            {"measures", rows_json(measures_section(document.measures))},
            {"samples", rows_json(samples_section(document))},
            {"causal", causal_of(document)},
            {"causal_loads", causal_loads_of(document)},
            {"responses", responses_of(document.others)},
            {"disagreements", disagreements(document)},
            {"duration_s", std::chrono::duration<double>(document.duration).count()},
            {"database", or_null(document.database)},
            {"failures", document.failures},
            {"failure_causes", causes_of(document.causes)}};
  add_analysis_json(root, analysis);
  return root;
}

}  // namespace stab::report
