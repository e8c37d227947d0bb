// SPDX-License-Identifier: MIT
// Takes each row that can be read and has the right checksum out of a damaged file.
#pragma once

#include <string>

#include "store/connection.h"
#include "store/recovery/losses.h"

namespace stab::store {

// Puts the rows with their ids into `to`, whose tables are empty. Reads along the tables' trees
// and, if those are damaged, also all pages of the file. `scratch` is a temporary file. Throws (see
// exceptions.h), also for a newer schema.
Losses salvage(const std::string& from, Connection& to, const std::string& scratch);

}  // namespace stab::store
