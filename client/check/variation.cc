// SPDX-License-Identifier: MIT
#include "client/check/variation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stats/numbers/distribution.h"
#include "stats/planning/repeated.h"

namespace stab::client {
namespace {

using nlohmann::json;
using stats::Scope;

std::string text_of(const json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> number_of(const json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? std::optional(found->get<double>())
                                                  : std::nullopt;
}

// Of the report's intervals. A sequential experiment's are wider, by its looks: those of this plan.
std::optional<double> level_of(const json& report, const plan::Plan& plan) {
  const auto alpha = number_of(report.at("analysis"), "alpha");
  const json stopping = report.value("stopping", json());
  if (!alpha || !stopping.is_object() || text_of(stopping, "rule") != "sequential") return alpha;
  const auto blocks = number_of(stopping, "blocks");
  const auto& stop = plan.design.stop;
  if (!stop || stop->rule != plan::StopRule::sequential || !blocks) return std::nullopt;
  std::vector<std::size_t> planned(stop->looks.begin(), stop->looks.end());
  planned.push_back(stop->max);
  const auto look = stats::Repeated::at(
      {.planned = std::move(planned), .blocks = static_cast<std::size_t>(*blocks)});
  return look ? std::optional(look->level(*alpha)) : std::nullopt;
}

Scope scope_of(const json& effect) {
  const std::string programs = text_of(effect, "programs");
  return programs == "these"        ? Scope::these
         : programs == "like-these" ? Scope::like_these
                                    : Scope::subject;
}

// How much a change varies between units, from the width of its interval.
std::optional<double> sd_of_change(const json& effect, double alpha, bool log) {
  const auto low = number_of(effect, "low");
  const auto high = number_of(effect, "high");
  const auto df = number_of(effect, "df");
  const auto units = number_of(effect, "units");
  // Where units belong to one arm only, their number is not that of changes.
  if (!low || !high || !df || !units || *units != *df + 1 || !(alpha > 0)) return std::nullopt;
  const auto t = stats::t_upper_quantile(alpha / 2, *df);
  if (!t || !(*low > 0)) return std::nullopt;
  const double width = log ? std::log(*high / *low) : *high - *low;
  return width / 2 / *t * std::sqrt(*units);
}

void add_changes(const json& report, const plan::Plan& plan, Variation& result) {
  const auto alpha = level_of(report, plan);
  if (!alpha) return;
  const bool log = plan.analysis.log_scale;
  for (const json& effect : report.value("effects", json::array())) {
    const auto sd = sd_of_change(effect, *alpha, log);
    if (!sd || !(*sd > 0)) continue;
    double& most = result.own[{.scope = scope_of(effect),
                               .benchmark = text_of(effect, "benchmark"),
                               .treatment = text_of(effect, "treatment")}];
    most = std::max(most, *sd);
  }
}

// Of one stratum, that of a pooled error.
void add_trials(const json& report, Variation& result) {
  for (const json& row : report.value("anova", json::array()))
    if (const auto ms = number_of(row, "ms");
        ms && text_of(row, "term") == "Residuals" && text_of(row, "stratum").empty())
      result.trials[text_of(row, "benchmark")] = std::sqrt(*ms);
}

void add_seeds(const json& report, Variation& result) {
  for (const json& row : report.value("variance_components", json::array())) {
    const auto between = number_of(row, "between");
    const auto within = number_of(row, "within");
    if (between && within)
      result.seeds[text_of(row, "benchmark")] = {.between = std::max(0.0, *between),
                                                 .within = *within};
  }
}

}  // namespace

Variation variation_of(const json& report, const plan::Plan& plan) {
  Variation result;
  const json analysis = report.value("analysis", json::object());
  if (text_of(analysis, "response") != plan.analysis.response ||
      analysis.value("log_scale", false) != plan.analysis.log_scale)
    return result;
  // A padding study's changes are relative; other raw numbers have no standard deviation in
  // percent.
  const bool percent = plan.design.kind == plan::DesignKind::padding_study;
  if (plan.analysis.log_scale || percent) add_changes(report, plan, result);
  if (!plan.analysis.log_scale) return result;
  add_trials(report, result);
  if (plan.design.kind == plan::DesignKind::nested) add_seeds(report, result);
  return result;
}

}  // namespace stab::client
