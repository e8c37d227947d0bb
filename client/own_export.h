// SPDX-License-Identifier: MIT
// Reads the output of 'stabctl export --format csv', which has a row for each attempt at a trial;
// not every attempt is a measurement.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "stats/data/csv.h"

namespace stab::client {

// Recognizes an export by the names of its columns.
bool is_own_export(std::string_view text);

// Leaves out warm-ups and attempts that were repeated, counts trials without success as lost, and
// sorts by the start time unless the user chose another order. A column that is a factor or the
// response leaves nothing out.
void ask_for_own_data(stats::CsvColumns& columns);

// "16 rows of stabd's export left out: 12 of warm-up trials, ..."; "" if no row was left out.
std::string own_rows_left_out(const stats::CsvColumns& columns,
                              std::span<const std::size_t> left_out);

}  // namespace stab::client
