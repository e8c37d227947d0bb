// SPDX-License-Identifier: MIT
// Looks for damage (S4): wrong checksums, missing readings, references to missing rows, and a
// damaged file structure. Throws (see exceptions.h).
#pragma once

#include <optional>
#include <vector>

#include "store/connection.h"

namespace stab::store {

std::vector<Damage> find_damage(Connection& connection, std::optional<Id> experiment);
// Checks all tables except trial and reading.
std::vector<Damage> find_damage_of_small_tables(Connection& connection);

// Returns damage to the file's structure, because of which queries may miss rows, or "".
std::string structure_problem(Connection& connection);

// Describes a wrong number of readings; "" if the number is right.
std::string reading_problem(std::int64_t expected, std::int64_t found);

}  // namespace stab::store
