// SPDX-License-Identifier: MIT
#include "report/json.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/json.h"
#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "stats/verdicts/decide.h"

namespace stab::report {

nlohmann::ordered_json or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value)
                                        : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json or_null(const std::string& value) {
  return value.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

nlohmann::ordered_json heap_json(const HeapLayer& layer) {
  nlohmann::ordered_json made{{"drawn", layer.drawn},
                              {"allocator", or_null(std::string(layer.drawn ? "layer" : ""))},
                              {"why_not", or_null(layer.why_not)},
                              {"changes", or_null(layer.changes)},
                              {"cost", nullptr}};
  if (const auto& cost = layer.cost)
    made["cost"] = {{"change", or_null(cost->change)},
                    {"low", or_null(cost->low)},
                    {"high", or_null(cost->high)},
                    {"pairs", cost->pairs}};
  return made;
}

namespace {

using Json = nlohmann::ordered_json;

std::string_view design_name(stats::Design design) {
  switch (design) {
    case stats::Design::factorial:
      return "factorial";
    case stats::Design::within_subjects:
      return "within-subjects";
    case stats::Design::nested:
      return "nested";
    case stats::Design::calibration:
      return "calibration";
    case stats::Design::padding_study:
      return "padding-study";
  }
  return "factorial";
}

std::string_view unit_name(stats::Unit unit) {
  switch (unit) {
    case stats::Unit::nanoseconds:
      return "ns";
    case stats::Unit::bytes:
      return "bytes";
    case stats::Unit::number:
      return "";
  }
  return "";
}

Json models(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::AnovaTable& table : analysis.tables)
    list.push_back({{"benchmark", or_null(table.subject)},
                    {"formula", table.formula},
                    {"programs", or_null(std::string(scope_word(table.scope)))}});
  return list;
}

Json assumptions(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::Assumption& each : analysis.assumptions)
    list.push_back(row_json(assumption_row(each)));
  return list;
}

Json calibration_json(const stats::Analysis& analysis) {
  if (!analysis.calibration) return nullptr;
  const auto floor_of = [&](const stats::Floor& floor) {
    return row_json(floor_row(analysis.spec, "", floor));
  };
  Json benchmarks = Json::array();
  for (const stats::Floor& floor : analysis.calibration->benchmarks)
    benchmarks.push_back(floor_of(floor));
  return {{"blocks", analysis.calibration->blocks},
          {"benchmarks", benchmarks},
          {"any", floor_of(analysis.calibration->any)},
          {"suite", floor_of(analysis.calibration->suite)}};
}

Json spec_of(const stats::Spec& spec) {
  Json made{{"design", design_name(spec.design)},
            {"response", spec.response},
            {"unit", or_null(std::string(unit_name(spec.unit)))},
            {"log_scale", spec.log_scale},
            {"method", spec.method == stats::Method::stabilizer ? "stabilizer" : "standard"},
            {"sums_of_squares", spec.sums_of_squares == stats::SumsOfSquares::type3 ? 3 : 2},
            {"error", spec.error == stats::Error::pooled ? "pooled" : "own"},
            {"programs", spec.programs == stats::Programs::these ? "these" : "like-these"},
            {"pairs", spec.all_pairs ? "all" : "baseline"},
            {"higher_is_better", spec.higher_is_better},
            {"alpha", spec.alpha},
            {"equivalence", or_null(spec.equivalence)},
            {"treatments", spec.treatments}};
  if (spec.machines) made["machine"] = spec.subject;
  return made;
}

Json list_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows)
    if (!row.empty()) list.push_back(row_json(row));
  return list;
}

}  // namespace

Json value_json(const Value& value) {
  if (const auto* const number = std::get_if<double>(&value)) return or_null(*number);
  if (const auto* const row = std::get_if<Row>(&value)) return row_json(*row);
  if (const auto* const rows = std::get_if<std::vector<Row>>(&value)) return list_json(*rows);
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  if (const auto* const texts = std::get_if<std::vector<std::string>>(&value)) return *texts;
  if (const auto* const count = std::get_if<std::uint64_t>(&value)) return *count;
  if (const auto* const is = std::get_if<bool>(&value)) return *is;
  return nullptr;
}

Json row_json(const Row& row) {
  Json made = Json::object();
  for (const Field& field : row)
    if (!field.key.empty()) made[field.key] = value_json(field.value);
  return made;
}

Json rows_json(const Section& section) {
  Json list = Json::array();
  for (const Part& part : section.parts)
    for (Json& row : list_json(part.rows)) list.push_back(std::move(row));
  return list;
}

Json effects_json(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::Effect& effect : analysis.effects)
    list.push_back(row_json(effect_row(analysis, effect, true)));
  return list;
}

Json verdict_json(const stats::Analysis& analysis) {
  Json common = nullptr;
  for (const stats::Effect* effect : stats::deciding_effects(analysis)) {
    if (common.is_null()) common = verdict_word(effect->verdict);
    if (common != Json(verdict_word(effect->verdict))) return "mixed";
  }
  return common;
}

Json verdict_json(const Document& document) {
  const Json common = verdict_json(document.analysis);
  if (!document.exclusions || document.exclusions->vanished.empty()) return common;
  // Exclusion rules left no trials for some comparison, so it has no verdict (Document::findings).
  const Json unsure = verdict_word(stats::Verdict::unsure);
  return common.is_null() || common == unsure ? unsure : Json("mixed");
}

Json response_json(const stats::Analysis& analysis) {
  return {{"response", analysis.spec.response},
          {"unit", or_null(std::string(unit_name(analysis.spec.unit)))},
          {"higher_is_better", analysis.spec.higher_is_better},
          {"verdict", verdict_json(analysis)},
          {"effects", effects_json(analysis)},
          {"notes", analysis.notes}};
}

void add_analysis_json(Json& root, const stats::Analysis& analysis) {
  root["analysis"] = spec_of(analysis.spec);
  root["model"] = analysis.tables.empty() ? Json(nullptr) : Json(analysis.tables.front().formula);
  root["models"] = models(analysis);
  root["anova"] = rows_json(anova_section(analysis));
  root["assumptions"] = assumptions(analysis);
  root["means"] = rows_json(means_section(analysis));
  root["effects"] = effects_json(analysis);
  root["interactions"] = rows_json(interactions_section(analysis));
  root["variance_components"] = rows_json(components_section(analysis));
  if (!analysis.machine_changes.empty())
    root["machine_changes"] = rows_json(machines_section(analysis));
  for (const stats::SlowMachine& machine : analysis.slow_machines)
    root["slow_machines"].push_back({{"machine", machine.name}, {"times", machine.times}});
  root["padding_study"] = rows_json(padding_section(analysis));
  root["calibration"] = calibration_json(analysis);
  root["notes"] = analysis.notes;
}

using nlohmann::ordered_json;
using stats::causal::Gain;
using stats::causal::Line;
using stats::causal::Point;
using stats::causal::PointKind;
using stats::causal::PointResult;
using stats::causal::Profile;

ordered_json causal_gain_json(const Gain& gain) {
  return row_json(gain_row(gain));
}

ordered_json causal_json(const Profile& profile, const stats::causal::Analysis& analysis,
                         double alpha) {
  ordered_json made{{"alpha", alpha},
                    {"runs", analysis.runs},
                    {"experiments", analysis.experiments},
                    {"left_out", profile.left_out},
                    {"hours", analysis.hours},
                    {"runs_are_clusters", analysis.runs_are_clusters},
                    {"end_to_end", analysis.is_end_to_end},
                    {"phase_known", analysis.is_phase_known},
                    {"points", ordered_json::array()}};
  for (const PointResult& point : analysis.points) {
    const Point& named = profile.points[point.point];
    const bool is_latency = named.kind == PointKind::latency;
    ordered_json each{{"name", named.name},
                      {"kind", is_latency ? "latency" : "throughput"},
                      {"visits", point.visits}};
    if (is_latency) {
      each["departures"] = point.departures;
      each["steady"] = point.is_steady;
    }
    if (point.base) each["base_ns"] = *point.base;
    each["lines"] = ordered_json::array();
    for (const Line& line : point.lines) each["lines"].push_back(row_json(line_row(profile, line)));
    made["points"].push_back(std::move(each));
  }
  return made;
}

using stats::causal::AtLoad;
using stats::causal::Change;
using stats::causal::Loads;

ordered_json asked_json(const stats::causal::Load& load) {
  return load.asked > 0 ? ordered_json(load.asked) : ordered_json();
}

ordered_json loads_json(const Profile& profile, const Loads& loads) {
  ordered_json made{{"loads", ordered_json::array()}};
  for (const AtLoad& at : loads.loads) made["loads"].push_back(row_json(load_row(profile, at)));
  if (profile.loads.size() < 2) return made;
  made["changes"] = ordered_json::array();
  for (const Change& each : loads.changes)
    made["changes"].push_back(row_json(change_row(profile, each)));
  return made;
}

namespace {

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
    all.push_back({{"what", each.what},
                   {"random", each.is_random},
                   {"why_not", or_null(each.why)},
                   {"cost", or_null(each.cost)}});
  return all;
}

Json heap_of(const std::vector<HeapLayer>& layers) {
  Json all = Json::array();
  for (const HeapLayer& each : layers) {
    Json one = Json::object();
    one["benchmark"] = each.benchmark;
    one.update(heap_json(each));
    all.push_back(std::move(one));
  }
  return all;
}

Json cost_of(const std::optional<Cost>& cost) {
  if (!cost) return nullptr;
  Json made{{"response", cost->response}};
  made.update(row_json(cost_row(*cost, cost->all)));
  made.erase("benchmark");
  made["off"] = cost->off;
  made["benchmarks"] = Json::array();
  for (const Cost::Of& each : cost->benchmarks)
    made["benchmarks"].push_back(row_json(cost_row(*cost, each)));
  return made;
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
            {"verdict", verdict_json(document)},
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
            {"heap", heap_of(document.heap)},
            {"cost", cost_of(document.cost)},
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
