// SPDX-License-Identifier: MIT
// What `stabctl check` says of the comparisons: how many are corrected together, from how many
// degrees of freedom their error comes, and which changes are found.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "client/check/comparisons.h"
#include "client/check/detectable.h"

namespace stab::client {

// With fewer degrees of freedom an error is known so badly that only large changes are found.
inline constexpr std::size_t few_df = 10;

// "these 4 benchmarks", "benchmarks like these", "each benchmark".
std::string words_of(const plan::Plan& plan, stats::Scope scope);
// "these", "like-these", or "".
std::string key_of(stats::Scope scope);

// A sentence for each family with few degrees of freedom.
std::vector<std::string> warnings(const plan::Plan& plan, const std::vector<Family>& families,
                                  const std::vector<Detectable>& detectable);

// A line each, warnings included. `source`: where the standard deviations are from.
std::vector<std::string> comparison_lines(const plan::Plan& plan,
                                          const std::vector<Family>& families,
                                          const std::vector<Detectable>& detectable,
                                          const std::string& source);

// The fields of check's JSON that tell the same.
void add_comparisons(const plan::Plan& plan, const std::vector<Family>& families,
                     const std::vector<Detectable>& detectable, nlohmann::ordered_json& root);

}  // namespace stab::client
