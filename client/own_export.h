// SPDX-License-Identifier: MIT
// What 'stabctl export --format csv' writes, read again: it has a row for each attempt at a trial,
// and not every attempt is a measurement.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "stats/data/csv.h"

namespace stab::client {

// By the names of its columns.
bool is_own_export(std::string_view text);

// Leaves out warm-ups, attempts that were repeated and those that failed, and sorts by the time of
// the start unless another order is asked for. A column that is a factor leaves nothing out.
void ask_for_own_data(stats::CsvColumns& columns);

// "16 rows of stabd's export left out: 12 warm-ups, 4 failed."; "" if there are none.
std::string own_rows_left_out(const stats::CsvColumns& columns,
                              std::span<const std::size_t> left_out);

}  // namespace stab::client
