// SPDX-License-Identifier: MIT
// Takes each row out of a damaged file that can be read and whose checksum is right.
#pragma once

#include <string>

#include "store/connection.h"
#include "store/recovery/losses.h"

namespace stab::store {

// Puts the rows into `to`, whose tables are empty, with their ids. It reads by the trees of the
// tables, and where those are damaged all pages of the file too. `scratch` is a file that is there
// only meanwhile. Throws (see failure.h), also for a newer schema.
Losses salvage(const std::string& from, Connection& to, const std::string& scratch);

}  // namespace stab::store
