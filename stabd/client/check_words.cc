// SPDX-License-Identifier: MIT
#include "stabd/client/check_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace stab::client {
namespace {

using nlohmann::ordered_json;
using stats::Scope;

// "3", or "3 to 29" where benchmarks differ.
std::string df_words(const Family& family) {
  const auto [fewest, most] = std::ranges::minmax(family.errors, {}, &OwnError::df);
  if (fewest.df == most.df) return fmt::format("{}", most.df);
  return fmt::format("{} to {}", fewest.df, most.df);
}

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string header(const plan::Plan& plan, const Family& family) {
  const bool several = family.comparisons > 1;
  return fmt::format("comparisons on {}: {}, {} degrees of freedom{}", words_of(plan, family.scope),
                     several ? fmt::format("{}, corrected together", family.comparisons) : "1",
                     df_words(family), several ? " each" : "");
}

// The largest of the changes that the family's comparisons with few degrees of freedom find.
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
    return fmt::format("nothing can be told of {}: an error needs more {}", words, family.more);
  const auto change = largest(family, detectable);
  return fmt::format(
      "with {} of freedom only {} on {} are found: more {} show smaller ones",
      df == 1 ? "1 degree" : fmt::format("{} degrees", df),
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
          "  smallest change that is found with {:.0f} % power{}{}, going by {}:",
          100 * planned_power, stop ? fmt::format(" by all {} blocks", stop->max) : "",
          family.comparisons > 1 ? fmt::format(" after the correction for {}",
                                               counted(family.comparisons, "comparison"))
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
