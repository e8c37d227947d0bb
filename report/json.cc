// SPDX-License-Identifier: MIT
#include "report/json.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/json_studies.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using Json = nlohmann::ordered_json;

// A field that changes its meaning raises it; doc/report.md describes all of them.
constexpr int json_format = 1;

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

// Verdicts have the same four words for every response.
std::string_view word(stats::Verdict verdict) {
  return verdict_word(verdict, stats::Spec{});
}

// Of a suite, what its results speak of.
Json scope_word(stats::Scope scope) {
  switch (scope) {
    case stats::Scope::subject:
      return nullptr;
    case stats::Scope::these:
      return "these";
    case stats::Scope::like_these:
      return "like-these";
  }
  return nullptr;
}

Json models(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::AnovaTable& table : analysis.tables)
    list.push_back({{"benchmark", or_null(table.subject)},
                    {"formula", table.formula},
                    {"programs", scope_word(table.scope)}});
  return list;
}

Json anova(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::AnovaTable& table : analysis.tables)
    for (const stats::AnovaRow& row : table.rows)
      list.push_back({{"benchmark", or_null(table.subject)},
                      {"programs", scope_word(table.scope)},
                      {"stratum", or_null(row.stratum)},
                      {"term", row.term},
                      {"aliases", or_null(row.aliases)},
                      {"df", row.df},
                      {"ss", row.ss},
                      {"ms", or_null(row.ms)},
                      {"F", or_null(row.f)},
                      {"p", or_null(row.p)},
                      {"epsilon", or_null(row.epsilon)},
                      {"partial_eta2", or_null(row.eta2)},
                      {"partial_omega2", or_null(row.omega2)},
                      {"partial_eta2_low", or_null(row.eta2_low)},
                      {"partial_eta2_high", or_null(row.eta2_high)}});
  return list;
}

Json means(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::CellMean& mean : analysis.means) {
    Json levels = Json::object();
    for (std::size_t i = 0; i < mean.levels.size() && i < analysis.spec.treatments.size(); ++i)
      levels[analysis.spec.treatments[i]] = mean.levels[i];
    list.push_back({{"benchmark", or_null(mean.subject)},
                    {"levels", levels},
                    {"n", mean.n},
                    {"mean", mean.mean},
                    {"low", or_null(mean.low)},
                    {"high", or_null(mean.high)},
                    {"sd", or_null(mean.sd)}});
  }
  return list;
}

Json spread(const std::optional<stats::Spread>& spread) {
  if (!spread) return nullptr;
  return {{"ratio", or_null(spread->ratio)},
          {"low", or_null(spread->low)},
          {"high", or_null(spread->high)},
          {"p", or_null(spread->p)}};
}

Json alternatives(const stats::Effect& effect) {
  Json list = Json::array();
  for (const stats::Alternative& other : effect.alternatives)
    list.push_back({{"method", other.method},
                    {"ratio", or_null(other.ratio)},
                    {"low", or_null(other.low)},
                    {"high", or_null(other.high)},
                    {"p", other.p}});
  return list;
}

std::string_view property_name(stats::Property property) {
  switch (property) {
    case stats::Property::normality:
      return "normality";
    case stats::Property::equal_variances:
      return "equal variances";
    case stats::Property::independence:
      return "independence";
  }
  return "normality";
}

Json assumptions(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::Assumption& a : analysis.assumptions)
    list.push_back({{"benchmark", or_null(a.subject)},
                    {"property", property_name(a.property)},
                    {"test", a.test},
                    {"of", a.of},
                    {"n", a.n},
                    {"statistic", or_null(a.statistic)},
                    {"p", or_null(a.p)},
                    {"holds", a.holds},
                    {"instead", or_null(a.instead)}});
  return list;
}

Json interactions(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::Interaction& each : analysis.interactions)
    list.push_back({{"benchmark", or_null(each.subject)},
                    {"programs", scope_word(each.scope)},
                    {"term", each.term},
                    {"aliases", or_null(each.aliases)},
                    {"ratio", or_null(each.ratio)},
                    {"difference", or_null(each.difference)},
                    {"low", or_null(each.low)},
                    {"high", or_null(each.high)},
                    {"p", or_null(each.p)},
                    {"variance", spread(each.spread)}});
  return list;
}

Json effects(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::Effect& effect : analysis.effects)
    list.push_back({{"benchmark", or_null(effect.subject)},
                    {"programs", scope_word(effect.scope)},
                    {"treatment", effect.treatment},
                    {"baseline", effect.baseline},
                    {"level", effect.level},
                    {"ratio", or_null(effect.ratio)},
                    {"low", or_null(effect.low)},
                    {"high", or_null(effect.high)},
                    {"difference", or_null(effect.difference)},
                    {"difference_low", or_null(effect.difference_low)},
                    {"difference_high", or_null(effect.difference_high)},
                    {"low_adjusted", or_null(effect.low_adjusted)},
                    {"high_adjusted", or_null(effect.high_adjusted)},
                    {"equivalence_low", or_null(effect.tost_low)},
                    {"equivalence_high", or_null(effect.tost_high)},
                    {"df", or_null(effect.df)},
                    {"p", or_null(effect.p)},
                    {"p_adjusted", or_null(effect.p_adjusted)},
                    {"p_equivalence", or_null(effect.p_same)},
                    {"p_equivalence_adjusted", or_null(effect.p_same_adjusted)},
                    {"error", effect.method},
                    {"unit", or_null(effect.unit)},
                    {"units", effect.units},
                    {"detectable", or_null(effect.detectable)},
                    {"needed_units", effect.needed ? Json(*effect.needed) : Json(nullptr)},
                    {"reason", or_null(effect.reason)},
                    {"aliases", or_null(effect.aliases)},
                    {"alternatives", alternatives(effect)},
                    {"variance", spread(effect.spread)},
                    {"control", stats::is_control(effect, analysis.spec)},
                    {"verdict", word(effect.verdict)}});
  return list;
}

Json components(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::VarianceComponents& c : analysis.components)
    list.push_back({{"benchmark", or_null(c.subject)},
                    {"factor", c.seed},
                    {"between", or_null(c.between)},
                    {"between_low", or_null(c.between_low)},
                    {"between_high", or_null(c.between_high)},
                    {"within", or_null(c.within)},
                    {"within_low", or_null(c.within_low)},
                    {"within_high", or_null(c.within_high)},
                    {"p", or_null(c.p)}});
  return list;
}

Json samples_of(const std::vector<WithinTrials>& samples) {
  Json list = Json::array();
  for (const WithinTrials& each : samples)
    list.push_back({{"benchmark", each.subject},
                    {"samples_per_trial", each.samples},
                    {"between", each.between},
                    {"between_low", each.between_low},
                    {"between_high", each.between_high},
                    {"within", each.within},
                    {"within_low", each.within_low},
                    {"within_high", each.within_high},
                    {"share_within", or_null(each.share)}});
  return list;
}

// The verdict that the deciding effects agree on, "mixed" if they do not.
Json verdict(const stats::Analysis& analysis) {
  Json common = nullptr;
  for (const stats::Effect* effect : stats::deciding_effects(analysis)) {
    if (common.is_null()) common = word(effect->verdict);
    if (common != Json(word(effect->verdict))) return "mixed";
  }
  return common;
}

Json spec_of(const stats::Spec& spec) {
  return {{"design", design_name(spec.design)},
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
}

Json counters_of(const std::vector<Counter>& counters) {
  Json list = Json::array();
  for (const Counter& each : counters)
    list.push_back({{"name", each.name},
                    {"unit", each.unit},
                    {"counted", each.counted},
                    {"scaled", each.scaled},
                    {"absent", each.absent},
                    {"least_coverage", each.scaled > 0 ? Json(each.least_coverage) : Json(nullptr)},
                    {"median", each.median ? Json(*each.median) : Json(nullptr)},
                    {"reason", or_null(each.reason)},
                    {"blocks", each.of_blocks > 0 ? Json(each.blocks) : Json(nullptr)},
                    {"of_blocks", each.of_blocks > 0 ? Json(each.of_blocks) : Json(nullptr)}});
  return list;
}

Json layouts_of(const Layouts& layouts) {
  return {{"randomized", layouts.randomized},
          {"unrandomized", layouts.unrandomized},
          {"without_runtime", layouts.without_runtime},
          {"kinds", or_null(layouts.kinds)},
          {"least_share", or_null(layouts.least_share)},
          {"median_share", or_null(layouts.median_share)},
          {"median_epochs", or_null(layouts.median_epochs)},
          {"few_epochs", layouts.few_epochs},
          {"median_fixed_heap", or_null(layouts.median_fixed)},
          {"fixed_heaps", layouts.fixed_heaps}};
}

Json stopping_of(const std::optional<Stopping>& stopping) {
  if (!stopping) return nullptr;
  return {{"rule", stopping->rule}, {"words", stopping->words},   {"fewest", stopping->fewest},
          {"most", stopping->most}, {"blocks", stopping->blocks}, {"alpha", stopping->alpha}};
}

Json exclusions_of(const std::optional<Exclusions>& exclusions, const stats::Spec& spec) {
  if (!exclusions) return nullptr;
  Json rules = Json::array();
  for (const Exclusions::Rule& rule : exclusions->rules)
    rules.push_back({{"when", rule.when}, {"caught", rule.caught}, {"not_judged", rule.open}});
  Json cells = Json::array();
  for (const Exclusions::Cell& cell : exclusions->cells)
    cells.push_back({{"cell", cell.name}, {"trials", cell.judged}, {"disturbed", cell.disturbed}});
  const auto listed = [&](const std::vector<stats::Effect>& list) {
    stats::Analysis analysis;
    analysis.spec = spec;
    analysis.effects = list;
    return effects(analysis);
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

Json responses_of(const std::vector<stats::Analysis>& others) {
  Json list = Json::array();
  for (const stats::Analysis& each : others)
    list.push_back({{"response", each.spec.response},
                    {"unit", or_null(std::string(unit_name(each.spec.unit)))},
                    {"higher_is_better", each.spec.higher_is_better},
                    {"verdict", verdict(each)},
                    {"effects", effects(each)},
                    {"notes", each.notes}});
  return list;
}

void add_analysis(Json& root, const stats::Analysis& analysis) {
  root["analysis"] = spec_of(analysis.spec);
  root["model"] = analysis.tables.empty() ? Json(nullptr) : Json(analysis.tables.front().formula);
  root["models"] = models(analysis);
  root["anova"] = anova(analysis);
  root["assumptions"] = assumptions(analysis);
  root["means"] = means(analysis);
  root["effects"] = effects(analysis);
  root["interactions"] = interactions(analysis);
  root["variance_components"] = components(analysis);
  root["padding_study"] = padding_json(analysis);
  root["calibration"] = calibration_json(analysis);
  root["notes"] = analysis.notes;
}

std::string dumped(const Json& root) {
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string analysis_json(const std::string& source, const stats::Analysis& analysis) {
  Json root{{"format", json_format},
            {"source", source},
            {"answer", answer(analysis)},
            {"verdict", verdict(analysis)}};
  add_analysis(root, analysis);
  return dumped(root);
}

std::string json(const Document& document) {
  const stats::Analysis& analysis = document.analysis;
  Json root{{"format", json_format},
            {"experiment", document.experiment},
            {"id", document.id},
            {"question", or_null(document.question)},
            {"state", document.state},
            {"reason", or_null(document.reason)},
            {"answer", answer(analysis)},
            {"verdict", verdict(analysis)},
            {"simulated", document.simulated},
            {"machine", or_null(document.machine)},
            {"versions", or_null(document.versions)},
            {"load",
             {{"other_cpus_busy", or_null(document.load.others)},
              {"stolen_share", or_null(document.load.stolen)},
              {"known_trials", document.load.known},
              {"trials_kept_waiting", document.load.kept_waiting},
              {"busy", document.load.is_busy()}}},
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
            {"counters", counters_of(document.counters)},
            {"measures", counters_of(document.measures)},
            {"samples", samples_of(document.samples)},
            {"responses", responses_of(document.others)},
            {"disagreements", disagreements(document)},
            {"duration_s", std::chrono::duration<double>(document.duration).count()},
            {"database", or_null(document.database)},
            {"failures", document.failures}};
  add_analysis(root, analysis);
  return dumped(root);
}

}  // namespace stab::report
