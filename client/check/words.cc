// SPDX-License-Identifier: MIT
#include "client/check/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace stab::client {
namespace {

using nlohmann::ordered_json;
using stats::Scope;

std::string df_text(std::size_t df) {
  return df == 1 ? "1 degree of freedom" : fmt::format("{} degrees of freedom", df);
}

// "3 to 29 degrees of freedom" if benchmarks differ.
std::string df_words(const Family& family) {
  const auto [fewest, most] = std::ranges::minmax(family.errors, {}, &OwnError::df);
  return (fewest.df < most.df ? fmt::format("{} to ", fewest.df) : "") + df_text(most.df);
}

std::string header(const plan::Plan& plan, const Family& family) {
  const std::string on = words_of(plan, family.scope);
  if (family.comparisons == 1)
    return fmt::format("comparisons on {}: 1; its error term has {}", on, df_words(family));
  return fmt::format("comparisons on {}: {}, corrected together; each error term has {}", on,
                     family.comparisons, df_words(family));
}

// The largest detectable change of the family's comparisons with few degrees of freedom.
std::optional<double> largest(const Family& family, const std::vector<Detectable>& detectable) {
  std::optional<double> change;
  for (const Detectable& each : detectable)
    if (each.scope == family.scope && each.error_df < few_df)
      change = std::max(change.value_or(0), each.change);
  return change;
}

std::string warning(const plan::Plan& plan, const Family& family,
                    const std::vector<Detectable>& detectable) {
  const std::size_t df = family.fewest_df();
  const std::string words = words_of(plan, family.scope);
  if (df == 0)
    return fmt::format(
        "an error term without degrees of freedom shows nothing about {}: use more {}", words,
        family.more);
  const auto change = largest(family, detectable);
  return fmt::format(
      "with {}, only {} on {} are found: use more {} to find smaller ones", df_text(df),
      change ? fmt::format("effects larger than {:.3g} %", 100 * *change) : "large effects", words,
      family.more);
}

std::string detectable_line(const Detectable& each) {
  return fmt::format("    {:<24} {:<16} {:.3g} %   (standard deviation {:.3g} %)",
                     each.benchmark.empty() ? "over all benchmarks" : each.benchmark,
                     each.treatment, 100 * each.change, 100 * each.sd);
}

}  // namespace

std::string words_of(const plan::Plan& plan, Scope scope) {
  if (scope == Scope::these) return fmt::format("these {} benchmarks", plan.benchmarks.size());
  if (scope == Scope::like_these) return "benchmarks like these";
  return plan.benchmarks.size() == 1 ? "the benchmark" : "each benchmark";
}

std::string key_of(Scope scope) {
  if (scope == Scope::these) return "these";
  return scope == Scope::like_these ? "like-these" : "";
}

std::vector<std::string> warnings(const plan::Plan& plan, const std::vector<Family>& families,
                                  const std::vector<Detectable>& detectable) {
  std::vector<std::string> result;
  for (const Family& family : families)
    if (family.fewest_df() < few_df) result.push_back(warning(plan, family, detectable));
  return result;
}

std::vector<std::string> comparison_lines(const plan::Plan& plan,
                                          const std::vector<Family>& families,
                                          const std::vector<Detectable>& detectable,
                                          const std::string& source) {
  std::vector<std::string> lines;
  const auto& stop = plan.design.stop;
  for (const Family& family : families) {
    lines.push_back(header(plan, family));
    const bool is_known =
        std::ranges::find(detectable, family.scope, &Detectable::scope) != detectable.end();
    if (is_known)
      lines.push_back(fmt::format(
          "  smallest change found with {:.0f} % power{}{}, judging by {}:", 100 * planned_power,
          stop ? fmt::format(" with all {} blocks", stop->max) : "",
          family.comparisons > 1 ? fmt::format(" after the correction for {}",
                                               fmt::to_string(family.comparisons) + " comparisons")
                                 : "",
          source));
    for (const Detectable& each : detectable)
      if (each.scope == family.scope) lines.push_back(detectable_line(each));
    if (family.fewest_df() < few_df)
      lines.push_back("  warning: " + warning(plan, family, detectable));
  }
  return lines;
}

void add_comparisons(const plan::Plan& plan, const std::vector<Family>& families,
                     const std::vector<Detectable>& detectable, ordered_json& root) {
  const bool any = !families.empty();
  root["comparisons"] = any ? families.front().comparisons : 0;
  root["error_df"] = any ? ordered_json(families.front().fewest_df()) : ordered_json(nullptr);
  ordered_json all = ordered_json::array();
  for (const Family& family : families)
    for (const OwnError& error : family.errors)
      all.push_back({{"programs", key_of(family.scope)},
                     {"benchmark", error.benchmark},
                     {"comparisons", family.comparisons},
                     {"error_df", error.df}});
  root["families"] = all;
  root["warnings"] = warnings(plan, families, detectable);
}

}  // namespace stab::client
