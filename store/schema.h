// SPDX-License-Identifier: MIT
// The schema and the way from one version to the next. doc/store.md describes the tables. Throws
// (see failure.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "store/connection.h"

namespace stab::store {

// In the header of every database of ours ("stab").
inline constexpr std::int32_t application_id = 0x73746162;

// steps[n] leads from version n to n + 1, version 0 being an empty file. It runs inside a
// transaction.
using Step = void (*)(Connection& connection);

// The steps of this version of stabd; their number is schema_version.
std::span<const Step> schema_steps();

// Until version 6 readings were rows of this table.
inline constexpr const char* old_reading_table = "reading";
inline constexpr int last_version_with_old_readings = 6;
inline constexpr int last_version_without_sizes = 8;

// For recovery, which reads files of any version: an empty such table beside the trials of today,
// in place of the view; and all of its rows into their trials, after which it is gone. The second
// is the migration from version 6. A trial of whose readings any is damaged or missing gets none
// and is damaged from then on: it has another number of readings than it says.
void bring_back_old_readings(Connection& connection);
void put_readings_into_trials(Connection& connection);

// In the table meta: whether the queue is paused. A database in which it never was lacks the row.
inline constexpr std::string_view queue_key = "queue";
inline constexpr std::string_view queue_is_paused = "paused";
inline constexpr std::string_view queue_runs = "running";

// Fills columns that version 12 added, and the queue's state, in rows of earlier versions. Recovery calls it for rows
// that it took out of a file of any version.
void read_facts_of_sentences(Connection& connection);

// The texts of the only views that a database of ours has.
std::span<const std::string_view> known_views();

// Of a file that anybody may have made: everything in its schema is, text by text, what a database of
// its version has. So nothing in it is a program: no generated column, CHECK, default or expression.
void refuse_other_schema(SQLite::Database& database);

// Applies the steps that are missing, each in a transaction of its own: after a crash the database
// has one of the versions, never something between. Refuses a database with a version newer than
// the last step's.
void migrate(Connection& connection, std::span<const Step> steps);

}  // namespace stab::store
