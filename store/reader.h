// SPDX-License-Identifier: MIT
// The half of the store that only reads. Invariant S4 of store.h holds here, too.
//
// Not thread-safe. A forked child must not touch it.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "store/records.h"

namespace stab::store {

inline constexpr int schema_version = 15;

struct StoreError {
  std::string message{};
  bool temporary = false;
};
template <class T>
using Outcome = std::expected<T, StoreError>;

// The message for users of a file whose structure is damaged (store.h, S6).
std::string structure_refusal(std::string_view problem);

class Connection;

class Reader {
 public:
  // Opens a database that another process may be writing. Takes no lock and never changes the file.
  // All reads see the state at the time of opening, and until the reader is closed, the writer's
  // log can only grow. Fails if there is no database or if its schema has another version.
  static Outcome<std::unique_ptr<Reader>> open(const std::string& path);
  // The same for a file that anybody may have made. Refuses a schema that stabd did not make, and
  // texts or numbers of rows beyond stabd's limits (rows/bounds.h). A file of an earlier version is
  // converted in memory.
  // If there is a `confine`, nobody may change the file, and a log beside it is ignored. `confine`
  // is called when the file is open and before its content is read. After that nothing is opened.
  using Confine = std::function<Result<void>()>;
  static Outcome<std::unique_ptr<Reader>> open_of_others(const std::string& path,
                                                         const Confine& confine = nullptr);
  virtual ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Reads everything and returns all damage (S4). `experiment` limits this to the rows of one
  // experiment and its machine. An error means that the file could not be read.
  Outcome<std::vector<Damage>> verify(std::optional<Id> experiment = std::nullopt);
  // The same for the tables with few rows, which are all but trials. Checks the structure of these
  // tables, too.
  Outcome<std::vector<Damage>> verify_small_tables();

  Outcome<std::optional<Machine>> machine(Id id);
  Outcome<std::vector<Id>> calibrated_machines();

  Outcome<std::optional<Experiment>> experiment(Id id);
  // The intact experiments, oldest first, and the damage of the others.
  struct Experiments {
    std::vector<Experiment> intact;
    std::vector<Damage> damaged;
  };
  Outcome<Experiments> experiments();

  // The numbers of an experiment's rows, which are counted but not read.
  struct Content {
    std::uint64_t trials = 0;  // attempts
    std::uint64_t builds = 0;
    std::uint64_t events = 0;
  };
  Outcome<Content> content(Id experiment);

  // A place in an experiment's log, which has the output of builds and trials, and events.
  struct LogPlace {
    Id build = 0;
    Id trial = 0;
    Id event = 0;
  };
  struct LogRow {
    Id id = 0;
    std::int64_t at_ns = 0;  // for a trial, its end; builds come before everything else
    std::string kind{};      // "build", "trial", or an event's kind
    std::string benchmark{};
    std::optional<std::uint32_t> position{};
    std::optional<std::uint32_t> attempt{};
    std::string text{};
  };
  struct Log {
    std::vector<LogRow> rows;  // by time
    LogPlace next;
    bool more = false;  // another piece is there already
  };
  // The next piece of the log after this place. Leaves out builds without output, and trials
  // without output or reason.
  Outcome<Log> log(Id experiment, LogPlace after);

  Outcome<std::vector<Build>> builds(Id experiment);  // in the order in which they were added first

  // Visits trials in the order of positions and attempts, until `row` returns false. Fails at the
  // first damaged row; then don't use the rows before it either. `row` must not change the store,
  // nor keep the reference to the trial.
  Outcome<void> for_each_trial(Id experiment, const std::function<bool(const Trial&)>& row);

  // The names of factors and readings in an experiment's trials, from rows that are not checked for
  // damage. Factors are sorted, readings are in the order of their first appearance.
  struct Names {
    std::vector<std::string> factors;
    std::vector<std::string> readings;
  };
  Outcome<Names> names(Id experiment);

  // The attempts at one position, for a session that continues the experiment.
  struct Progress {
    std::uint32_t position = 0;
    std::uint32_t attempts = 0;
    std::uint32_t disturbed = 0;  // how many of them were disturbed
    bool done = false;            // its last attempt has the mark `last`
    TrialStatus status = TrialStatus::not_started;
    std::int64_t wall_ns = 0;  // of all attempts together
    std::string node{};        // of the last attempt
  };
  // Ordered by position; positions without an attempt are left out.
  Outcome<std::vector<Progress>> progress(Id experiment, Positions among = {});

  Outcome<std::vector<Calibration>> calibrations(Id machine);  // oldest first
  Outcome<std::vector<Event>> events(Id experiment);  // oldest first; 0 gives the daemon's own

 protected:
  // `held` is released after the connection is closed.
  Reader(std::string path, std::unique_ptr<Connection> connection, std::shared_ptr<void> held);
  [[nodiscard]] const std::string& path() const { return path_; }
  Connection& connection() { return *connection_; }

 private:
  std::string path_;
  std::shared_ptr<void> held_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace stab::store
