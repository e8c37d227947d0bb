// SPDX-License-Identifier: MIT
#include "store/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <utility>

#include "store/connection.h"
#include "store/copy.h"
#include "store/exceptions.h"
#include "store/lock.h"
#include "store/rows/codec.h"
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

std::uint64_t Store::bytes_of_user(std::uint32_t uid) const {
  return sizes_->of_user(uid);
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
    // A damaged row keeps the key and stays as it is, so the machine gets a row with another key.
    for (int number = 2;; ++number) {
      Id same = 0;
      bool damaged = false;
      connection().scan_apart("machine", "WHERE key = ?", {row.key}, [&](const Stored& found) {
        same = found.id;
        damaged = !found.intact;
        return false;
      });
      if (same == 0) return connection().insert("machine", to_row(row));
      if (!damaged) return same;
      row.key = fmt::format("{}-{}", machine.key, number);
    }
  });
}

Outcome<Id> Store::add_experiment(const Experiment& experiment) {
  const auto added = add(fmt::format("the experiment {}", experiment.name), [&] {
    const Id id = connection().insert("experiment", to_row(experiment), last_removed() + 1);
    sizes_->add_experiment(experiment, id);
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

void Store::insert(const Trial& trial) {
  if (trial.last && trial.attempt > 0)
    unmark("WHERE experiment = ? AND position = ? AND attempt < ? AND last = 1",
           {trial.experiment, std::int64_t{trial.position}, std::int64_t{trial.attempt}});
  const Row row = to_row(trial);
  connection().insert("trial", row);
  sizes_->add_row(row);
}

Outcome<void> Store::add_trial(const Trial& trial) {
  const std::string what = fmt::format("trial {} (attempt {}) of experiment {}", trial.position,
                                       trial.attempt, trial.experiment);
  return write(what, [&] { insert(trial); });
}

Outcome<void> Store::add_trials(std::span<const Trial> trials) {
  return write(fmt::format("{} trials", trials.size()), [&] {
    for (const Trial& trial : trials) insert(trial);
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

}  // namespace stab::store
