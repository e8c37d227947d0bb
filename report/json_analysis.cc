// SPDX-License-Identifier: MIT
#include "report/json_analysis.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "report/or_null.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
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

Json models(const stats::Analysis& analysis) {
  Json list = Json::array();
  for (const stats::AnovaTable& table : analysis.tables)
    list.push_back({{"benchmark", or_null(table.subject)},
                    {"formula", table.formula},
                    {"programs", or_null(std::string(scope_word(table.scope)))}});
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

Json list_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows)
    if (!row.empty()) list.push_back(row_json(row));
  return list;
}

Json value_json(const Value& value) {
  if (const auto* const number = std::get_if<double>(&value)) return or_null(*number);
  if (const auto* const row = std::get_if<Row>(&value)) return row_json(*row);
  if (const auto* const rows = std::get_if<std::vector<Row>>(&value)) return list_json(*rows);
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  if (const auto* const count = std::get_if<std::uint64_t>(&value)) return *count;
  if (const auto* const is = std::get_if<bool>(&value)) return *is;
  return nullptr;
}

}  // namespace

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
    if (common.is_null()) common = json_word(effect->verdict);
    if (common != Json(json_word(effect->verdict))) return "mixed";
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
  root["anova"] = rows_json(anova_section(analysis));
  root["assumptions"] = assumptions(analysis);
  root["means"] = rows_json(means_section(analysis));
  root["effects"] = effects_json(analysis);
  root["interactions"] = rows_json(interactions_section(analysis));
  root["variance_components"] = rows_json(components_section(analysis));
  root["padding_study"] = rows_json(padding_section(analysis));
  root["calibration"] = calibration_json(analysis);
  root["notes"] = analysis.notes;
}

}  // namespace stab::report
