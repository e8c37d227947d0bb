// SPDX-License-Identifier: MIT
// Reads facts about a table from the table itself: which rows of our own export are measurements,
// and which design is behind the table.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "stats/data/csv.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"

namespace stab::client {

// The output of 'stabctl export --format csv' has a row for each attempt at a trial; not every
// attempt is a measurement. Recognizes an export by the names of its columns.
bool is_own_export(std::string_view text);

// Leaves out warm-ups and attempts that were repeated, counts trials without success as lost, and
// sorts by the start time unless the user chose another order. A column that is a factor or the
// response leaves nothing out.
void ask_for_own_data(stats::CsvColumns& columns);

// "Left out: 16 rows of stabd's export (12 of warm-up trials, ...)."; "" if no row was left out.
std::string own_rows_left_out(const stats::CsvColumns& columns,
                              std::span<const std::size_t> left_out);

// The design is derived from the table's combinations of levels, and from the seeds that its cells
// share.

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
