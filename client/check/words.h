// SPDX-License-Identifier: MIT
// The lines and JSON of `stabctl check` about the comparisons: how many are corrected together,
// their error's degrees of freedom, and the smallest changes that they find.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "client/check/comparisons.h"
#include "client/check/detectable.h"

namespace stab::client {

// With fewer degrees of freedom, an error is so uncertain that only large changes are found.
inline constexpr std::size_t few_df = 10;

// "these 4 benchmarks", "benchmarks like these", "each benchmark".
std::string words_of(const plan::Plan& plan, stats::Scope scope);
// "these", "like-these", or "".
std::string key_of(stats::Scope scope);

// A sentence for each family with few degrees of freedom.
std::vector<std::string> warnings(const plan::Plan& plan, const std::vector<Family>& families,
                                  const std::vector<Detectable>& detectable);

// Describes the comparisons, with warnings. `source` says where the standard deviations come from.
std::vector<std::string> comparison_lines(const plan::Plan& plan,
                                          const std::vector<Family>& families,
                                          const std::vector<Detectable>& detectable,
                                          const std::string& source);

// Adds the fields of check's JSON with the same content.
void add_comparisons(const plan::Plan& plan, const std::vector<Family>& families,
                     const std::vector<Detectable>& detectable, nlohmann::ordered_json& root);

}  // namespace stab::client
