// SPDX-License-Identifier: MIT
// Derives the design behind a table from the table itself: from its combinations of levels, and
// from the seeds that its cells share.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"

namespace stab::client {

// If the table has a regular fraction of the cells of treatments with two levels each, records
// which effects cannot be distinguished. Uses `generators` if there are any, or else finds them in
// the table.
Result<void> set_fraction(const std::vector<std::string>& generators, const stats::Dataset& data,
                          stats::Spec& spec, std::vector<std::string>& notes);
// Sets whether the cells of a nested design have their own seeds ("nested") or share them
// ("crossed": seeds are then blocks). "auto" means nested, but is an error if cells share a seed,
// because the table does not say which of the two is meant.
Result<void> set_seeds(const std::string& seeds_are, const stats::Dataset& data, stats::Spec& spec);

}  // namespace stab::client
