// SPDX-License-Identifier: MIT
// What the layer above the programs' allocators changes and costs, judged by pairs of first runs: one
// without it and one with it each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/ab/versions.h"

namespace stab::client::ab {

// What one run took of what the layer could change.
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

// A clause that says what the layer changes of this version: page faults or the peak of memory by
// more than 5 %, or CPU time by more than 10 % (25 % with fewer than three pairs), beyond what loading
// it costs any program. "": nothing of that.
std::string what_changes(const std::string& version, const Pairs& pairs);

// A clause that says that the layer costs the second version more or less of its time than the first:
// the difference of the logarithms is significant at 5 %, above 1 %, and at least 1 ms of the shorter
// one. "": it is not.
std::string what_costs_more(const std::string& first, const Pairs& of_first,
                            const std::string& second, const Pairs& of_second);

// Of all versions together. Nothing: no run took measurable time.
std::optional<HeapCost> cost_of(const std::vector<Pairs>& all);

}  // namespace stab::client::ab
