// SPDX-License-Identifier: MIT
#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "store/codec.h"
#include "store/connection.h"
#include "store/failure.h"
#include "store/lock.h"
#include "store/schema.h"
#include "store/verify.h"

namespace stab::store {

struct Store::Impl {
  std::string path;
  Lock lock;  // released after the connection is closed
  Connection connection;

  Impl(const std::string& where, Lock held)
      : path(where), lock(std::move(held)), connection(where) {
    migrate(connection, schema_steps());
  }

  template <class F>
  auto read(std::string_view what, F&& action) {
    return guarded(fmt::format("cannot read {}", what), path, std::forward<F>(action));
  }

  Outcome<void> write(std::string_view what, const std::function<void()>& action) {
    return guarded(fmt::format("cannot store {}", what), path,
                   [&] { connection.transaction(action); });
  }

  Outcome<Id> add(std::string_view what, const std::function<Id()>& action) {
    Id id = 0;
    if (auto stored = write(what, [&] { id = action(); }); !stored)
      return std::unexpected(stored.error());
    return id;
  }

  template <class F>
  auto collect(std::string_view table, std::string_view rest, const Value& argument, F&& decode) {
    std::vector<decltype(decode(Row()))> records;
    connection.select(table, rest, {argument}, [&](const Stored& stored) {
      records.push_back(decode(stored.row));
      return true;
    });
    return records;
  }

  template <class F>
  auto find(std::string_view table, Id id, F&& decode) {
    auto found = collect(table, "WHERE id = ?", id, std::forward<F>(decode));
    return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
  }

  std::vector<counters::Reading> readings_of(const Stored& trial);
  // Those attempts stand no longer; how many they are.
  std::uint64_t unmark(std::string_view which, Connection::Arguments arguments);
};

// Two paths to one file must not give two locks.
static std::string resolved(const std::string& path) {
  std::error_code ignored;
  const auto absolute = std::filesystem::weakly_canonical(path, ignored);
  return absolute.empty() ? path : absolute.string();
}

Outcome<std::unique_ptr<Store>> Store::open(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored))
    return std::unexpected(StoreError{
        fmt::format("the database must be a file, and '{}' is not; name a file in it", path)});
  const std::string file = resolved(path);
  auto lock = Lock::take(file);
  if (!lock) return std::unexpected(lock.error());
  return guarded("cannot open the database", path, [&] {
    return std::unique_ptr<Store>(new Store(std::make_unique<Impl>(file, std::move(*lock))));
  });
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Outcome<std::vector<Damage>> Store::verify(std::optional<Id> experiment) {
  return impl_->read("all rows", [&] { return find_damage(impl_->connection, experiment); });
}

Outcome<Id> Store::add_machine(const Machine& machine) {
  return impl_->add("the machine", [&] {
    Id same = 0;
    impl_->connection.select("machine", "WHERE key = ?", {machine.key}, [&](const Stored& found) {
      same = found.id;
      return false;
    });
    return same != 0 ? same : impl_->connection.insert("machine", to_row(machine));
  });
}

Outcome<std::optional<Machine>> Store::machine(Id id) {
  return impl_->read(fmt::format("machine {}", id),
                     [&] { return impl_->find("machine", id, to_machine); });
}

Outcome<Id> Store::add_experiment(const Experiment& experiment) {
  return impl_->add(fmt::format("the experiment {}", experiment.name),
                    [&] { return impl_->connection.insert("experiment", to_row(experiment)); });
}

Outcome<void> Store::update_experiment(const Experiment& experiment) {
  return impl_->write(fmt::format("experiment {}", experiment.id), [&] {
    impl_->connection.update("experiment", experiment.id, to_row(experiment));
  });
}

Outcome<std::uint64_t> Store::open_again(const Experiment& experiment, bool always) {
  std::uint64_t open = 0;
  auto written = impl_->write(fmt::format("experiment {}", experiment.id), [&] {
    open = impl_->unmark("WHERE experiment = ? AND last = 1 AND status <> ?",
                         {experiment.id, std::string(to_string(TrialStatus::ok))});
    if (open > 0 || always)
      impl_->connection.update("experiment", experiment.id, to_row(experiment));
  });
  if (!written) return std::unexpected(written.error());
  return open;
}

Outcome<std::optional<Experiment>> Store::experiment(Id id) {
  return impl_->read(fmt::format("experiment {}", id),
                     [&] { return impl_->find("experiment", id, to_experiment); });
}

Outcome<Store::Experiments> Store::experiments() {
  return impl_->read("the experiments", [&] {
    Experiments found;
    impl_->connection.scan("experiment", "WHERE id > ? ORDER BY id", {std::int64_t{0}},
                           [&](const Stored& stored) {
                             if (stored.intact)
                               found.intact.push_back(to_experiment(stored.row));
                             else
                               found.damaged.push_back({.table = "experiment",
                                                        .row = stored.id,
                                                        .problem = std::string(checksum_problem)});
                             return true;
                           });
    return found;
  });
}

Outcome<void> Store::add_build(const Build& build) {
  return impl_->write(fmt::format("the build of {}", build.benchmark), [&] {
    const Id same = impl_->connection.number(
        "SELECT id FROM build WHERE experiment = ? AND benchmark = ? AND key = ?",
        {build.experiment, build.benchmark, build.key});
    if (same == 0)
      impl_->connection.insert("build", to_row(build));
    else
      impl_->connection.update("build", same, to_row(build));
  });
}

Outcome<std::vector<Build>> Store::builds(Id experiment) {
  return impl_->read(fmt::format("the builds of experiment {}", experiment), [&] {
    return impl_->collect("build", "WHERE experiment = ? ORDER BY id", experiment, to_build);
  });
}

// Their checksums change with the mark, so each is read, checked and written anew.
std::uint64_t Store::Impl::unmark(std::string_view which, Connection::Arguments arguments) {
  std::vector<Stored> found;
  connection.select("trial", which, arguments, [&](const Stored& stored) {
    found.push_back(stored);
    return true;
  });
  for (Stored& stored : found) {
    stored.row.set("last", std::int64_t{0});
    connection.update("trial", stored.id, stored.row);
  }
  return found.size();
}

Outcome<void> Store::add_trial(const Trial& trial) {
  const std::string what = fmt::format("trial {} (attempt {}) of experiment {}", trial.position,
                                       trial.attempt, trial.experiment);
  return impl_->write(what, [&] {
    if (trial.last && trial.attempt > 0)
      impl_->unmark("WHERE experiment = ? AND position = ? AND attempt < ? AND last = 1",
                    {trial.experiment, std::int64_t{trial.position}, std::int64_t{trial.attempt}});
    const Id id = impl_->connection.insert("trial", to_row(trial));
    std::size_t ordinal = 0;
    for (const counters::Reading& reading : trial.readings)
      impl_->connection.insert("reading", to_row(reading, id, ordinal++));
  });
}

std::vector<counters::Reading> Store::Impl::readings_of(const Stored& trial) {
  auto readings = collect("reading", "WHERE trial = ? ORDER BY ordinal", trial.id, to_reading);
  const std::string problem =
      reading_problem(trial.row.integer("readings"), static_cast<std::int64_t>(readings.size()));
  if (!problem.empty()) refuse_damaged({.table = "trial", .row = trial.id, .problem = problem});
  return readings;
}

Outcome<void> Store::for_each_trial(Id experiment, const std::function<bool(const Trial&)>& row) {
  const auto pass_on = [&](const Stored& stored) {
    Trial trial = to_trial(stored.row);
    trial.readings = impl_->readings_of(stored);
    return row(trial);
  };
  return impl_->read(fmt::format("the trials of experiment {}", experiment), [&] {
    impl_->connection.select("trial", "WHERE experiment = ? ORDER BY position, attempt",
                             {experiment}, pass_on);
  });
}

Outcome<std::vector<Store::Progress>> Store::progress(Id experiment) {
  std::vector<Progress> positions;
  const auto add = [&](const Stored& stored) {
    const Trial trial = to_trial(stored.row);
    if (positions.empty() || positions.back().position != trial.position)
      positions.push_back({.position = trial.position});
    Progress& here = positions.back();
    ++here.attempts;
    here.done = trial.last;
    here.status = trial.status;
    here.wall_ns += trial.wall_ns.value_or(0);
    return true;
  };
  return impl_->read(fmt::format("the progress of experiment {}", experiment), [&] {
    impl_->connection.select("trial", "WHERE experiment = ? ORDER BY position, attempt",
                             {experiment}, add);
    return positions;
  });
}

Outcome<void> Store::add_calibrations(const std::vector<Calibration>& calibrations) {
  return impl_->write("a calibration", [&] {
    for (const Calibration& each : calibrations) {
      const Id same = impl_->connection.number(
          "SELECT id FROM calibration WHERE machine = ? AND at_ns = ? AND name = ? AND scope = ? "
          "AND benchmark = ?",
          {each.machine, each.at_ns, each.name, std::string(to_string(each.scope)),
           each.benchmark});
      if (same == 0)
        impl_->connection.insert("calibration", to_row(each));
      else
        impl_->connection.update("calibration", same, to_row(each));
    }
  });
}

Outcome<std::vector<Id>> Store::calibrated_machines() {
  return impl_->read("the calibrations", [&] {
    const auto of = [](const Row& row) { return row.integer("machine"); };
    auto machines =
        impl_->collect("calibration", "WHERE id > ? ORDER BY machine", std::int64_t{0}, of);
    machines.erase(std::ranges::unique(machines).begin(), machines.end());
    return machines;
  });
}

Outcome<std::vector<Calibration>> Store::calibrations(Id machine) {
  return impl_->read(fmt::format("the calibrations of machine {}", machine), [&] {
    return impl_->collect("calibration", "WHERE machine = ? ORDER BY at_ns, id", machine,
                          to_calibration);
  });
}

Outcome<void> Store::add_event(const Event& event) {
  return impl_->write("an event", [&] { impl_->connection.insert("event", to_row(event)); });
}

Outcome<std::vector<Event>> Store::events(Id experiment) {
  const Value which = experiment == 0 ? Value() : Value(experiment);
  return impl_->read(fmt::format("the events of experiment {}", experiment), [&] {
    return impl_->collect("event", "WHERE experiment IS ? ORDER BY id", which, to_event);
  });
}

}  // namespace stab::store
