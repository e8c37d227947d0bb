// SPDX-License-Identifier: MIT
// The schema and its migration from one version to the next. doc/store.md describes the tables.
// Throws (see exceptions.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "store/connection.h"

namespace stab::store {

// Identifies a database of stabd in its header ("stab").
inline constexpr std::int32_t application_id = 0x73746162;

// steps[n] migrates from version n to n + 1; version 0 is an empty file. A step runs inside a
// transaction.
using Step = void (*)(Connection& connection);

// The steps of this version of stabd; their number is schema_version.
std::span<const Step> schema_steps();

// Up to version 6, readings were rows of this table.
inline constexpr const char* old_reading_table = "reading";
inline constexpr int last_version_with_old_readings = 6;
inline constexpr int last_version_without_sizes = 8;

// For recovery, which reads files of any version. The first function replaces the view `reading`
// with an empty table of old readings. The second, which is also the migration from version 6,
// moves the table's rows into their trials and drops the table. If any of a trial's readings is
// damaged or missing, the trial gets no readings, and counts as damaged because their number is
// wrong.
void bring_back_old_readings(Connection& connection);
void put_readings_into_trials(Connection& connection);

// In the table meta: whether the queue is paused. A database in which it never was lacks the row.
inline constexpr std::string_view queue_key = "queue";
inline constexpr std::string_view queue_is_paused = "paused";
inline constexpr std::string_view queue_runs = "running";

// Both show that experiments have been removed: in the table meta, the highest id that a removed
// experiment had, and the kind of the database's own event about the beginning of a removal.
inline constexpr std::string_view last_removed_key = "last_removed_experiment";
inline constexpr std::string_view removal_event = "removal";

// Fills the columns that versions 12, 13 and 15 added, and the queue's state, in rows of earlier
// versions, whose facts stood only in sentences. Recovery calls it for rows that it took out of a
// file of any version.
void read_facts_of_sentences(Connection& connection);

// The SQL of all views that a database of stabd has.
std::span<const std::string_view> known_views();

// Refuses a file unless its schema is, text by text, that of a database of its version. So a file
// that anybody may have made contains no program: no generated column, CHECK, default or
// expression.
void refuse_other_schema(SQLite::Database& database);

// Applies the missing steps, each in its own transaction, so that after a crash the database has
// one of the versions, never a mixture. Refuses a database that is newer than the last step.
void migrate(Connection& connection, std::span<const Step> steps);

}  // namespace stab::store
