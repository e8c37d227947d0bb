// SPDX-License-Identifier: MIT
// What a table itself says of the design behind it: which combinations of levels it has, and whether
// cells share their seeds.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"

namespace stab::client {

// Of a table that has a regular part of the cells of its treatments, with two levels each: which
// effects cannot be told apart. By the generators if there are some, else as the table shows.
Result<void> set_fraction(const std::vector<std::string>& generators, const stats::Dataset& data,
                          stats::Spec& spec, std::vector<std::string>& notes);
// Whether the seeds of a nested design are its cells' own ("nested"), or shared by several cells
// ("crossed": they are blocks then). "auto": nested, and an error where cells share a seed, because
// nothing says which of the two is meant.
Result<void> set_seeds(const std::string& seeds_are, const stats::Dataset& data, stats::Spec& spec);

}  // namespace stab::client
