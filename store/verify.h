// SPDX-License-Identifier: MIT
// Looks for damage (S4): checksums, missing readings, references into nowhere, SQLite's own
// structure. Throws (see failure.h).
#pragma once

#include <optional>
#include <vector>

#include "store/connection.h"

namespace stab::store {

std::vector<Damage> find_damage(Connection& connection, std::optional<Id> experiment);
// Of rows of all tables but trial and reading.
std::vector<Damage> find_damage_of_small_tables(Connection& connection);

// What is wrong with the file below its rows: then queries may miss rows. "" if nothing is.
std::string structure_problem(Connection& connection);

// How many readings of this trial are missing or too many; "" if all are there.
std::string reading_problem(std::int64_t expected, std::int64_t found);

}  // namespace stab::store
