// SPDX-License-Identifier: MIT
// The schema and the way from one version to the next. doc/store.md describes the tables. Throws
// (see failure.h).
#pragma once

#include <cstdint>
#include <span>

#include "store/connection.h"

namespace stab::store {

// In the header of every database of ours ("stab").
inline constexpr std::int32_t application_id = 0x73746162;

// steps[n] leads from version n to n + 1, version 0 being an empty file. It runs inside a
// transaction.
using Step = void (*)(Connection& connection);

// The steps of this version of stabd; their number is schema_version.
std::span<const Step> schema_steps();

// Applies the steps that are missing, each in a transaction of its own: after a crash the database
// has one of the versions, never something between. Refuses a database with a version newer than
// the last step's.
void migrate(Connection& connection, std::span<const Step> steps);

}  // namespace stab::store
