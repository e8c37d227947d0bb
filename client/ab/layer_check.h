// SPDX-License-Identifier: MIT
// Finds out what the layer above the programs' allocators changes and costs, from pairs of first
// runs: one run without the layer, and one with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/ab/versions.h"

namespace stab::client::ab {

// The resources that one run used, as far as the layer could change them.
struct Run {
  double cpu_ns = 0;
  double faults = 0;
  std::optional<double> peak{};  // bytes
};

// The runs of one version. Each vector has one run of each pair.
struct Pairs {
  std::vector<Run> without;
  std::vector<Run> with;
};

// A clause that says what the layer changes in this version: page faults or peak memory by more
// than 5 %, or CPU time by more than 10 % (25 % with fewer than three pairs), in addition to what
// loading the layer costs any program. "" if it changes none of these.
std::string what_changes(const std::string& version, const Pairs& pairs);

// A clause that says that the layer costs the second version a larger or smaller share of its time
// than the first. For this, the difference of the logarithms must be significant at 5 %, and at
// least 1 % and 1 ms of the shorter time; otherwise returns "".
std::string what_costs_more(const std::string& first, const Pairs& of_first,
                            const std::string& second, const Pairs& of_second);

// The cost for all versions together. Nothing if no run took measurable time.
std::optional<HeapCost> cost_of(const std::vector<Pairs>& all);

}  // namespace stab::client::ab
