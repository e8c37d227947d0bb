// SPDX-License-Identifier: MIT
#include "report/json_analysis.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "report/json_studies.h"
#include "report/or_null.h"
#include "report/words/answer.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
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
                      {"p_adjusted", or_null(row.p_adjusted)},
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

Json alternative(const stats::Alternative& other) {
  return {{"method", other.method},
          {"ratio", or_null(other.ratio)},
          {"low", or_null(other.low)},
          {"high", or_null(other.high)},
          {"p", other.p}};
}

Json alternatives(const stats::Effect& effect) {
  Json list = Json::array();
  for (const stats::Alternative& other : effect.alternatives) list.push_back(alternative(other));
  return list;
}

Json beside(const stats::Effect& effect) {
  if (!effect.beside) return nullptr;
  return alternative(*effect.beside);
}

Json averages(const stats::Effect& effect) {
  Json list = Json::array();
  for (const stats::Alternative& each : effect.averages) list.push_back(alternative(each));
  return list;
}

Json loss_bounds(const stats::Effect& effect) {
  if (!effect.loss_bounds) return nullptr;
  return *effect.loss_bounds == stats::Losses::monotone ? "monotone" : "extremes";
}

Json randomization(const stats::Effect& effect) {
  if (!effect.randomization) return nullptr;
  const stats::Randomization& test = *effect.randomization;
  return {{"p", test.p},
          {"p_low", test.p_low},
          {"p_high", test.p_high},
          {"p_adjusted", or_null(test.p_adjusted)},
          {"p_equivalence", or_null(test.p_same)},
          {"p_equivalence_adjusted", or_null(test.p_same_adjusted)},
          {"low", or_null(test.low)},
          {"high", or_null(test.high)},
          {"units", test.units},
          {"draws", test.draws},
          {"all", test.all},
          {"seed", test.seed},
          {"skewness", or_null(test.skewness)},
          {"influential", or_null(test.influential)},
          {"without_it", or_null(test.without)}};
}

// Of units in the order of time that the error allows to depend on each other.
Json in_time(const stats::Effect& effect, double stats::Estimate::* number) {
  if (!effect.estimate || effect.estimate->in_time == 0) return nullptr;
  return *effect.estimate.*number;
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
                    {"p_adjusted", or_null(each.p_adjusted)},
                    {"variance", spread(each.spread)}});
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

}  // namespace

Json effects_json(const stats::Analysis& analysis) {
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
                    {"exact", effect.exact},
                    {"aliases", or_null(effect.aliases)},
                    {"autocorrelation", in_time(effect, &stats::Estimate::autocorrelation)},
                    {"independent_units", in_time(effect, &stats::Estimate::independent)},
                    {"estimand", stats::estimand_name(effect.estimand)},
                    {"beside", beside(effect)},
                    {"averages", averages(effect)},
                    {"randomization", randomization(effect)},
                    {"loss_bounds", loss_bounds(effect)},
                    {"loss_low", or_null(effect.loss_low)},
                    {"loss_high", or_null(effect.loss_high)},
                    {"loss_p", or_null(effect.loss_p)},
                    {"alternatives", alternatives(effect)},
                    {"variance", spread(effect.spread)},
                    {"control", stats::is_control(effect, analysis.spec)},
                    {"control_reach", effect.reach ? or_null(effect.reach->share) : Json(nullptr)},
                    {"held_back", effect.held_back ? Json(word(*effect.held_back)) : Json(nullptr)},
                    {"verdict", word(effect.verdict)}});
  return list;
}

Json verdict_json(const stats::Analysis& analysis) {
  Json common = nullptr;
  for (const stats::Effect* effect : stats::deciding_effects(analysis)) {
    if (common.is_null()) common = word(effect->verdict);
    if (common != Json(word(effect->verdict))) return "mixed";
  }
  return common;
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
  root["anova"] = anova(analysis);
  root["assumptions"] = assumptions(analysis);
  root["means"] = means(analysis);
  root["effects"] = effects_json(analysis);
  root["interactions"] = interactions(analysis);
  root["variance_components"] = components(analysis);
  root["padding_study"] = padding_json(analysis);
  root["calibration"] = calibration_json(analysis);
  root["notes"] = analysis.notes;
}

}  // namespace stab::report
