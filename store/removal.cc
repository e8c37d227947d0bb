// SPDX-License-Identifier: MIT
// Removes experiments (S7), or only their output, from the store.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "store/connection.h"
#include "store/exceptions.h"
#include "store/rows/codec.h"
#include "store/rows/sizes.h"
#include "store/store.h"
#include "store/summaries.h"

namespace stab::store {
namespace {

// The kind of the event that says that an experiment's output has been removed.
constexpr std::string_view output_forgotten = "retention";

// Keys in the table meta: the highest id of a removed experiment, and the values of keep_ages(),
// whose keys for experiments end with the id.
constexpr std::string_view last_removed_key = "last_removed_experiment";
constexpr std::string_view age_clock_key = "age_clock";
constexpr std::string_view seen_end_keys = "seen_end_of_";

std::string seen_end_key(Id experiment) {
  return fmt::format("{}{}", seen_end_keys, experiment);
}

std::string text_of(const Store::SeenEnd& end) {
  return fmt::format("{} {} {}", end.ended_ns, end.seen_ns, end.output_forgotten ? 1 : 0);
}

std::optional<Store::SeenEnd> seen_end_in(const Stored& stored) {
  if (!stored.intact) return std::nullopt;
  long long experiment = 0;
  long long ended = 0;
  long long seen = 0;
  int forgotten = 0;
  const std::string key = stored.row.text("key").substr(seen_end_keys.size());
  if (std::sscanf(key.c_str(), "%lld", &experiment) != 1 ||
      std::sscanf(stored.row.text("value").c_str(), "%lld %lld %d", &ended, &seen, &forgotten) != 3)
    return std::nullopt;
  return Store::SeenEnd{.experiment = experiment,
                        .ended_ns = ended,
                        .seen_ns = seen,
                        .output_forgotten = forgotten != 0};
}

Id last_removed_in(const Stored& found) {
  return found.intact ? std::atoll(found.row.text("value").c_str()) : 0;
}

void note_last_removed(Connection& connection, Id experiment) {
  // Experiments with higher ids may have been removed before this one.
  const Stored found = connection.meta(last_removed_key);
  if (found.id != 0) experiment = std::max(experiment, last_removed_in(found));
  connection.set_meta(last_removed_key, fmt::format_int(experiment).c_str());
}

// The approximate size of a row that may be damaged.
std::int64_t size_of(Connection& connection, const char* table, const char* large, Id id) {
  try {
    return connection.number(
        fmt::format("SELECT length(CAST({} AS BLOB)) FROM {} WHERE id = ?", large, table), {id});
  } catch (const SQLite::Exception& error) {
    if (!is_corrupt(error)) throw;
    return 0;
  }
}

void add_own_event(Connection& connection, std::string_view kind, std::string_view text) {
  connection.insert("event", to_row(Event{.at_ns = wall_clock_ns(),
                                          .kind = std::string(kind),
                                          .text = std::string(text)}));
}

}  // namespace

// 0 if it is not known.
Id Store::last_removed() {
  return last_removed_in(connection().meta(last_removed_key));
}

Outcome<bool> Store::empty_log() {
  return guarded("cannot empty the log", path(), [&] {
    SQLite::Database& database = connection().database();
    const int waits = database.execAndGet("PRAGMA busy_timeout").getInt();
    database.setBusyTimeout(0);  // the caller's loop must not wait for other processes
    const bool busy = database.execAndGet("PRAGMA wal_checkpoint(TRUNCATE)").getInt() != 0;
    database.setBusyTimeout(waits);
    return !busy;
  });
}

Outcome<void> Store::begin_removal(Id experiment, std::string_view why) {
  auto written = write(fmt::format("the removal of experiment {}", experiment), [&] {
    Row row;
    connection().select("experiment", "WHERE id = ?", {experiment}, [&row](const Stored& stored) {
      row = stored.row;
      return false;
    });
    if (row.values().empty()) refuse(fmt::format("there is no experiment {}", experiment));
    row.set("state", being_removed);
    connection().update("experiment", experiment, row);
    add_own_event(connection(), "removal", why);
  });
  if (written && summaries_) summaries_->forget(experiment);
  return written;
}

Outcome<std::vector<Id>> Store::removals() {
  return guarded("cannot read which experiments are being removed", path(), [&] {
    return connection().ids("experiment", "WHERE state = ?", {std::string(being_removed)}).ids;
  });
}

Outcome<bool> Store::go_on_with_removal(Id experiment) {
  bool more = true;
  auto written = write(fmt::format("the removal of experiment {}", experiment), [&] {
    // SQLite overwrites removed rows (secure_delete) while the caller's clients wait, so the bytes
    // of a piece are limited, too.
    const auto some = [&](const char* table, const char* large) {
      const auto found =
          connection()
              .ids(table,
                   fmt::format("WHERE id IN (SELECT id FROM {} WHERE experiment = ? LIMIT {})",
                               table, piece_of_removal),
                   {experiment})
              .ids;
      std::int64_t bytes = 0;
      for (const Id id : found) {
        bytes += size_of(connection(), table, large, id);
        connection().remove(table, "WHERE id = ?", {id});
        if (bytes >= bytes_of_removal) break;
      }
      return !found.empty();
    };
    more =
        some("trial",
             "coalesce(sample_list, '') || coalesce(reading_list, '') || stderr_tail || reason") ||
        some("event", "text") || some("build", "command || output");
    if (!more) remove_rest(experiment);
  });
  if (!written) return std::unexpected(written.error());
  if (!more && summaries_) summaries_->forget(experiment);
  return more;
}

void Store::remove_rest(Id experiment) {
  // A calibration describes the machine and stays if root or the daemon's own user made it. Another
  // user's calibration may be wrong for others, and without its experiment nobody could tell whose
  // it is.
  const auto owner = static_cast<std::uint32_t>(
      connection().number("SELECT uid FROM experiment WHERE id = ?", {experiment}));
  const bool stays = owner == 0 || owner == geteuid();
  std::vector<Stored> calibrations;
  connection().scan("calibration", "WHERE experiment = ?", {experiment}, [&](const Stored& stored) {
    calibrations.push_back(stored);
    return true;
  });
  for (Stored& each : calibrations) {
    each.row.set_value("experiment", {});
    if (each.intact && stays)
      connection().update("calibration", each.id, each.row);
    else
      connection().remove("calibration", "WHERE id = ?", {each.id});
  }
  if (connection().number("SELECT max(id) FROM experiment") == experiment)
    note_last_removed(connection(), experiment);
  const Id machine =
      connection().number("SELECT machine FROM experiment WHERE id = ?", {experiment});
  connection().remove("experiment", "WHERE id = ?", {experiment});
  connection().remove("meta", "WHERE key = ?", {seen_end_key(experiment)});
  sizes_->remove_experiment(experiment);
  // Delete the machine's row if nothing refers to it; its next experiment adds it again.
  if (machine != 0)
    connection().remove(
        "machine",
        "WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM experiment WHERE machine = ?1) "
        "AND NOT EXISTS (SELECT 1 FROM calibration WHERE machine = ?1)",
        {machine});
}

Outcome<std::string> Store::age_clock() {
  return guarded("cannot read the age clock", path(), [&] {
    const Stored found = connection().meta(age_clock_key);
    return found.intact ? found.row.text("value") : std::string();
  });
}

Outcome<std::vector<Store::SeenEnd>> Store::seen_ends() {
  return guarded("cannot read when experiments ended", path(), [&] {
    std::vector<SeenEnd> ends;
    connection().scan("meta", "WHERE key GLOB ?", {fmt::format("{}*", seen_end_keys)},
                      [&ends](const Stored& stored) {
                        if (const auto end = seen_end_in(stored)) ends.push_back(*end);
                        return true;
                      });
    return ends;
  });
}

Outcome<void> Store::keep_ages(const std::string& clock, std::span<const SeenEnd> ends) {
  return write("the ages of experiments", [&] {
    connection().set_meta(age_clock_key, clock);
    for (const SeenEnd& end : ends)
      connection().set_meta(seen_end_key(end.experiment), text_of(end));
  });
}

Outcome<std::optional<Store::Place>> Store::forget_output(Id experiment, Place after,
                                                          std::string_view why) {
  std::optional<Place> next;
  auto written = write(fmt::format("experiment {} without its output", experiment), [&] {
    // Damaged rows stay as they are.
    const auto empty = [&](const char* table, const char* column, std::vector<Stored> rows) {
      for (Stored& each : rows) {
        if (!each.intact || each.row.text(column).empty()) continue;
        sizes_->add(experiment, -static_cast<std::int64_t>(each.row.text(column).size()));
        each.row.set(column, std::string_view());
        connection().update(table, each.id, each.row);
      }
    };
    const auto rows_of = [&](const char* table, const std::string& rest, Arguments arguments) {
      std::vector<Stored> rows;
      connection().scan(table, rest, arguments, [&rows](const Stored& stored) {
        rows.push_back(stored);
        return true;
      });
      return rows;
    };
    std::vector<Stored> trials =
        rows_of("trial",
                fmt::format("WHERE experiment = ? AND (position, attempt) > (?, ?) ORDER BY "
                            "position, attempt LIMIT {}",
                            piece_of_removal),
                {experiment, after.position, after.attempt});
    if (!trials.empty()) {
      next = {.position = trials.back().row.integer("position"),
              .attempt = trials.back().row.integer("attempt")};
      return empty("trial", "stderr_tail", std::move(trials));
    }
    empty("build", "output", rows_of("build", "WHERE experiment = ?", {experiment}));
    connection().insert("event", to_row(Event{.experiment = experiment,
                                              .at_ns = wall_clock_ns(),
                                              .kind = std::string(output_forgotten),
                                              .text = std::string(why)}));
    if (auto end = seen_end_in(connection().meta(seen_end_key(experiment)))) {
      end->output_forgotten = true;
      connection().set_meta(seen_end_key(experiment), text_of(*end));
    }
  });
  if (!written) return std::unexpected(written.error());
  return next;
}

}  // namespace stab::store
