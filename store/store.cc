// SPDX-License-Identifier: MIT

#include "store/store.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/time.h"
#include "store/connection.h"
#include "store/copy.h"
#include "store/exceptions.h"
#include "store/rows/cursor.h"
#include "store/rows/row.h"
#include "store/rows/sizes.h"
#include "store/schema.h"
#include "store/summaries.h"
#include "store/verify.h"

namespace stab::store {

// Two paths to the same file must lead to the same lock.
static std::string resolved(const std::string& path) {
  std::error_code ignored;
  const auto absolute = std::filesystem::weakly_canonical(path, ignored);
  return absolute.empty() ? path : absolute.string();
}

// Copies the database before its schema changes, so that users can return to the old version.
static void keep_before_migration(Connection& connection, const std::string& path) {
  const std::int64_t version = connection.number("PRAGMA user_version");
  if (version <= 0 || version >= schema_version) return;
  const std::string copy = fmt::format("{}.before-v{}", path, version + 1);
  try {
    copy_database(connection.database(), copy, true);
  } catch (const std::exception& error) {
    const StoreError why = explain(error, "the copy failed", copy);
    throw Failure(
        {.message = fmt::format(
             "the database must be copied before its schema changes from version {} to {}; {}",
             version, schema_version, why.message),
         .temporary = why.temporary});
  }
}

static void refuse_damaged_queue(Id row) {
  refuse_damaged({.table = "meta", .row = row, .problem = std::string(checksum_problem)});
}

Store::Store(const std::string& path, std::unique_ptr<Connection> connection,
             std::shared_ptr<void> lock)
    : Reader(path, std::move(connection), std::move(lock)), sizes_(std::make_unique<Sizes>()) {
  sizes_->load(this->connection());
}

Store::~Store() = default;

BytesOfAccount Store::bytes_of_account(std::uint32_t uid) const {
  return sizes_->of_account(uid);
}

void Store::use_accounts(AccountOf account_of) {
  sizes_->use_accounts(std::move(account_of));
}

std::uint64_t Store::bytes_of_experiment(Id experiment) const {
  return sizes_->of_experiment(experiment);
}

Outcome<const Summaries*> Store::summaries() {
  return guarded("cannot read the experiments", path(), [&]() -> const Summaries* {
    if (!summaries_) summaries_ = std::make_unique<Summaries>(connection());
    return summaries_.get();
  });
}

void Store::now_stored(const Experiment& experiment) {
  if (summaries_) summaries_->put(experiment);
}

Outcome<std::unique_ptr<Store>> Store::open(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored))
    return std::unexpected(
        StoreError{fmt::format("the database must be a file, but '{}' is a folder or an empty "
                               "path; give the path of a file",
                               path)});
  const std::string file = resolved(path);
  auto lock = Lock::take(file);
  if (!lock) return std::unexpected(lock.error());
  return guarded("cannot open the database", path, [&] {
    auto held = std::make_shared<Lock>(std::move(*lock));
    auto connection = std::make_unique<Connection>(file);
    const std::int64_t version = connection->number("PRAGMA user_version");
    keep_before_migration(*connection, file);
    migrate(*connection, schema_steps());
    if (version > 0 && version <= last_version_without_sizes)
      connection->transaction([&connection] { Sizes::count_missing(*connection); });
    return std::unique_ptr<Store>(new Store(file, std::move(connection), std::move(held)));
  });
}

Outcome<void> Store::write(std::string_view what, const std::function<void()>& action) {
  return guarded(fmt::format("cannot store {}", what), path(), [&] {
    if (!refusal_.empty()) refuse(refusal_);
    try {
      store_with_room(action);
    } catch (const SQLite::Exception& error) {
      // If a single row is corrupt, only this change fails.
      if (!is_corrupt(error)) throw;
      if (const std::string problem = structure_problem(connection()); !problem.empty())
        refuse_changes(structure_refusal(problem));
      throw;
    }
  });
}

// While somebody reads, SQLite only appends to the log. It starts the log again only after a
// commit, and on a full disk no commit succeeds, so reuse_log() makes room for a second try.
void Store::store_with_room(const std::function<void()>& action) {
  const auto with_sizes = [&] {
    sizes_->begin();
    action();
    sizes_->write(connection());
  };
  try {
    connection().transaction(with_sizes);
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() != SQLITE_FULL) throw;
    connection().reuse_log();
    connection().transaction(with_sizes);
  }
  sizes_->committed();
}

Outcome<Id> Store::add(std::string_view what, const std::function<Id()>& action) {
  Id id = 0;
  if (auto stored = write(what, [&] { id = action(); }); !stored)
    return std::unexpected(stored.error());
  return id;
}

Outcome<Id> Store::add_machine(const Machine& machine) {
  return add("the machine", [&] {
    Machine row = machine;
    // A row that is damaged, or that has other facts, keeps the key and stays as it is. Then this
    // machine gets a row with another key.
    for (int number = 2;; ++number) {
      std::optional<Id> same;
      bool taken = false;
      connection().scan_apart("machine", "WHERE key = ?", {row.key}, [&](const Stored& found) {
        taken = true;
        if (found.intact && to_machine(found.row) == row) same = found.id;
        return false;
      });
      if (same) return *same;
      if (!taken) return connection().insert("machine", to_row(row));
      row.key = fmt::format("{}-{}", machine.key, number);
    }
  });
}

Outcome<Id> Store::add_experiment(const Experiment& experiment) {
  const auto added = add(fmt::format("the experiment {}", experiment.name), [&] {
    const Id id = connection().insert("experiment", to_row(experiment), last_removed() + 1);
    sizes_->add_experiment(experiment, id);
    // Only an import adds an experiment that has its machine already. Each of a user's imports may
    // bring another machine with large facts.
    if (experiment.machine != 0)
      sizes_->add(
          id, connection().number("SELECT length(CAST(key AS BLOB)) + length(CAST(host AS BLOB)) + "
                                  "length(CAST(facts AS BLOB)) FROM machine WHERE id = ?",
                                  {experiment.machine}));
    return id;
  });
  if (!added || !summaries_) return added;
  Experiment stored = experiment;
  stored.id = *added;
  now_stored(stored);
  return added;
}

Outcome<void> Store::update_experiment(const Experiment& experiment) {
  auto written = write(fmt::format("experiment {}", experiment.id), [&] {
    connection().update("experiment", experiment.id, to_row(experiment));
    sizes_->use_state(experiment.id, experiment.state);
  });
  if (written) now_stored(experiment);
  return written;
}

void Store::insert_or_replace(const Build& build) {
  const Id same =
      connection().number("SELECT id FROM build WHERE experiment = ? AND benchmark = ? AND key = ?",
                          {build.experiment, build.benchmark, build.key});
  const Row row = to_row(build);
  if (same == 0) {
    connection().insert("build", row);
  } else {
    connection().scan("build", "WHERE id = ?", {same}, [this](const Stored& before) {
      if (before.intact) sizes_->remove_row(before.row);
      return false;
    });
    connection().update("build", same, row);
  }
  sizes_->add_row(row);
}

void Store::insert(const Event& event) {
  const Row row = to_row(event);
  connection().insert("event", row);
  if (event.experiment != 0) sizes_->add_row(row);
}

Outcome<void> Store::add_build(const Build& build) {
  return write(fmt::format("the build of {}", build.benchmark), [&] { insert_or_replace(build); });
}

Outcome<void> Store::add_builds_and_events(std::span<const Build> builds,
                                           std::span<const Event> events) {
  return write(fmt::format("{} builds and {} events", builds.size(), events.size()), [&] {
    for (const Build& build : builds) insert_or_replace(build);
    for (const Event& event : events) insert(event);
  });
}

// The mark is part of the checksum, so each row is read, checked and written again.
std::uint64_t Store::unmark(std::string_view which, std::initializer_list<Value> arguments) {
  std::vector<Stored> found;
  connection().select("trial", which, arguments, [&](const Stored& stored) {
    found.push_back(stored);
    return true;
  });
  for (Stored& stored : found) {
    stored.row.set("last", std::int64_t{0});
    connection().update("trial", stored.id, stored.row);
  }
  return found.size();
}

void Store::insert(const Trial& trial, Earlier earlier) {
  if (trial.last && trial.attempt > 0 && earlier == Earlier::may_be_marked)
    unmark("WHERE experiment = ? AND position = ? AND attempt < ? AND last = 1",
           {trial.experiment, std::int64_t{trial.position}, std::int64_t{trial.attempt}});
  const Row row = to_row(trial);
  connection().insert("trial", row);
  sizes_->add_row(row);
}

Outcome<void> Store::add_trial(const Trial& trial) {
  const std::string what = fmt::format("trial {} (attempt {}) of experiment {}", trial.position,
                                       trial.attempt, trial.experiment);
  return write(what, [&] { insert(trial, Earlier::may_be_marked); });
}

Outcome<void> Store::add_trials(std::span<const Trial> trials, Earlier earlier) {
  return write(fmt::format("{} trials", trials.size()), [&] {
    for (const Trial& trial : trials) insert(trial, earlier);
  });
}

Outcome<void> Store::add_calibrations(const std::vector<Calibration>& calibrations) {
  return write("a calibration", [&] {
    for (const Calibration& each : calibrations) {
      const Id same = connection().number(
          "SELECT id FROM calibration WHERE machine = ? AND at_ns = ? AND name = ? AND scope = ? "
          "AND benchmark = ?",
          {each.machine, each.at_ns, each.name, std::string(to_string(each.scope)),
           each.benchmark});
      if (same == 0)
        connection().insert("calibration", to_row(each));
      else
        connection().update("calibration", same, to_row(each));
    }
  });
}

Outcome<bool> Store::is_queue_paused() {
  return guarded("cannot read whether the queue is paused", path(), [&] {
    const Stored row = connection().meta(queue_key);
    if (row.id == 0) return false;
    if (!row.intact) refuse_damaged_queue(row.id);
    return row.row.text("value") == queue_is_paused;
  });
}

Outcome<void> Store::pause_queue(bool paused, const Event& event) {
  return write("whether the queue is paused", [&] {
    if (const Stored row = connection().meta(queue_key); row.id != 0 && !row.intact)
      refuse_damaged_queue(row.id);
    connection().set_meta(queue_key, paused ? queue_is_paused : queue_runs);
    insert(event);
  });
}

Outcome<void> Store::add_event(const Event& event) {
  return write("an event", [&] { insert(event); });
}

// Removes experiments (S7), or only their output, from the store.

namespace {

// The kind of the event that says that an experiment's output has been removed.
constexpr std::string_view output_forgotten = "retention";

// Keys in the table meta: the values of keep_ages(), whose keys for experiments end with the id.
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

std::size_t bytes_of_texts(const Row& row) {
  std::size_t bytes = 0;
  for (const auto& [column, value] : row.values())
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->size();
  return bytes;
}

// The rows of a piece whose output is removed.
struct Printed {
  std::vector<Stored> rows;
  std::optional<Store::Place> next;  // nothing at the end of the table
  std::size_t bytes = 0;             // of the rows' texts

  // Returns whether the piece is full.
  bool add(Connection& connection, const char* table, Id id) {
    connection.scan(table, "WHERE id = ?", {id}, [this](const Stored& stored) {
      bytes += bytes_of_texts(stored.row);
      rows.push_back(stored);
      return false;
    });
    return std::cmp_greater_equal(rows.size(), piece_of_removal) ||
           std::cmp_greater_equal(bytes, bytes_of_removal);
  }
};

// Reads only the numbers of trials that printed nothing.
Printed printed_trials(Connection& connection, Id experiment, Store::Place after) {
  Printed piece;
  SQLite::Statement trials(
      connection.database(),
      fmt::format("SELECT id, position, attempt, stderr_tail <> '' FROM trial WHERE experiment = ? "
                  "AND (position, attempt) > (?, ?) ORDER BY position, attempt LIMIT {}",
                  piece_of_retry));
  trials.bind(1, experiment);
  trials.bind(2, after.position);
  trials.bind(3, after.attempt);
  while (trials.executeStep()) {
    piece.next = {.position = trials.getColumn(1).getInt64(),
                  .attempt = trials.getColumn(2).getInt64()};
    if (trials.getColumn(3).getInt() != 0 &&
        piece.add(connection, "trial", trials.getColumn(0).getInt64()))
      break;
  }
  return piece;
}

Printed printed_builds(Connection& connection, Id experiment, Store::Place after) {
  Printed piece;
  for (const Id id :
       connection.ids("build", "WHERE experiment = ? AND id > ?", {experiment, after.build}).ids) {
    if (!piece.add(connection, "build", id)) continue;
    piece.next = after;
    piece.next->build = id;
    break;
  }
  return piece;
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
    sizes_->use_state(experiment, being_removed);
    add_own_event(connection(), removal_event, why);
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
             "coalesce(sample_list, '') || coalesce(reading_list, '') || coalesce(causal, '') || "
             "coalesce(profile, '') || stderr_tail || reason") ||
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
    Printed trials = printed_trials(connection(), experiment, after);
    next = trials.next;
    empty("trial", "stderr_tail", std::move(trials.rows));
    if (next) return;
    Printed builds = printed_builds(connection(), experiment, after);
    next = builds.next;
    empty("build", "output", std::move(builds.rows));
    if (next) return;
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

// Retries experiments (S8): their failed attempts lose the mark `last`.

namespace {

struct Piece {
  std::vector<Stored> failed;  // attempts with the mark `last`
  std::optional<Store::Place> next;
};

bool succeeded(std::string_view status) {
  return status == to_string(TrialStatus::ok) || status == to_string(TrialStatus::disturbed);
}

// Reads only the status of attempts that succeeded.
Piece piece_behind(Connection& connection, Id experiment, Store::Place after) {
  Piece piece;
  Cursor rows = connection.cursor(
      "trial", "WHERE experiment = ? AND (position, attempt) > (?, ?) ORDER BY position, attempt",
      {experiment, after.position, after.attempt});
  const int last = rows.place("last");
  const int status = rows.place("status");
  const int position = rows.place("position");
  const int attempt = rows.place("attempt");
  std::size_t bytes = 0;
  for (std::int64_t seen = 0; rows.step();) {
    if (rows.integer(last) == 1 && !succeeded(rows.text(status))) {
      piece.failed.push_back({.row = rows.row(), .id = rows.id(), .intact = rows.intact()});
      bytes += bytes_of_texts(piece.failed.back().row);
    }
    if (++seen < piece_of_retry && std::cmp_less(piece.failed.size(), piece_of_removal) &&
        std::cmp_less(bytes, bytes_of_removal))
      continue;
    piece.next = {.position = rows.integer(position), .attempt = rows.integer(attempt)};
    break;
  }
  return piece;
}

}  // namespace

Outcome<Store::Failed> Store::failed(Id experiment, Place after) {
  return guarded(fmt::format("cannot read the trials of experiment {}", experiment), path(), [&] {
    const Piece piece = piece_behind(connection(), experiment, after);
    for (const Stored& each : piece.failed)
      if (!each.intact)
        refuse_damaged(
            {.table = "trial", .row = each.id, .problem = std::string(checksum_problem)});
    return Failed{.count = piece.failed.size(), .next = piece.next};
  });
}

Outcome<void> Store::begin_retry(const Experiment& experiment, std::string_view state_before) {
  Experiment begun = experiment;
  begun.state = being_retried;
  auto written = write(fmt::format("experiment {}", experiment.id), [&] {
    if (connection().number("SELECT count(*) FROM experiment WHERE id = ? AND state = ?",
                            {experiment.id, std::string(state_before)}) == 0)
      refuse("the experiment has changed meanwhile: try again");
    connection().update("experiment", experiment.id, to_row(begun));
  });
  if (written) now_stored(begun);
  return written;
}

// A damaged row stays as it is; the next read reports it.
Outcome<std::optional<Store::Place>> Store::go_on_with_retry(Id experiment, Place after) {
  std::optional<Place> next;
  auto written = write(fmt::format("the retry of experiment {}", experiment), [&] {
    Piece piece = piece_behind(connection(), experiment, after);
    for (Stored& each : piece.failed) {
      if (!each.intact) continue;
      each.row.set("last", std::int64_t{0});
      connection().update("trial", each.id, std::move(each.row));
    }
    next = piece.next;
  });
  if (!written) return std::unexpected(written.error());
  return next;
}

Outcome<void> Store::reopen(Id experiment, std::uint32_t from, std::uint32_t end) {
  return write(fmt::format("trials {} to {} of experiment {}", from, end, experiment), [&] {
    unmark("WHERE experiment = ? AND position >= ? AND position < ? AND last = 1",
           {experiment, std::int64_t{from}, std::int64_t{end}});
  });
}

}  // namespace stab::store
