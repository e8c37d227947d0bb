// SPDX-License-Identifier: MIT
// What the store holds, for those who only read: the half of store.h that changes nothing. Its
// invariant S4 holds here, too.
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

inline constexpr int schema_version = 12;

struct StoreError {
  std::string message{};
  bool temporary = false;
};
template <class T>
using Outcome = std::expected<T, StoreError>;

// What to do about a file whose structure is damaged (store.h, S6).
std::string structure_refusal(std::string_view problem);

class Connection;

class Reader {
 public:
  // Of a database that another process may be writing; takes no lock and never changes it. All that
  // is read is of the moment of opening. As long as it is open the writer's log can only grow. Fails
  // if there is no database or if its schema is not of this version.
  static Outcome<std::unique_ptr<Reader>> open(const std::string& path);
  // The same of a file that anybody may have made: what is not as stabd makes it is refused, and so
  // is a text or a number of rows that is larger than what stabd takes (rows/bounds.h).
  static Outcome<std::unique_ptr<Reader>> open_of_others(const std::string& path);
  virtual ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // All damage (S4), none if the vector is empty. Reads everything; `experiment` limits it to the
  // rows of one experiment and the machine that it ran on. An error means that the file could not
  // be read.
  Outcome<std::vector<Damage>> verify(std::optional<Id> experiment = std::nullopt);
  // The same of the tables with few rows: all but trials and the structure of the file.
  Outcome<std::vector<Damage>> verify_small_tables();

  Outcome<std::optional<Machine>> machine(Id id);
  Outcome<std::vector<Id>> calibrated_machines();

  Outcome<std::optional<Experiment>> experiment(Id id);
  // Those that are as they were written, oldest first, and what is wrong with the others.
  struct Experiments {
    std::vector<Experiment> intact;
    std::vector<Damage> damaged;
  };
  Outcome<Experiments> experiments();

  // How many rows an experiment has, counted and not read.
  struct Content {
    std::uint64_t trials = 0;  // attempts
    std::uint64_t builds = 0;
    std::uint64_t events = 0;
  };
  Outcome<Content> content(Id experiment);

  // What builds and trials printed and what happened, in pieces.
  struct LogPlace {
    Id build = 0;
    Id trial = 0;
    Id event = 0;
  };
  struct LogRow {
    Id id = 0;
    std::int64_t at_ns = 0;  // of a trial its end; a build comes before everything else
    std::string kind{};      // "build", "trial", or that of an event
    std::string benchmark{};
    std::optional<std::uint32_t> position{};
    std::optional<std::uint32_t> attempt{};
    std::string text{};
  };
  struct Log {
    std::vector<LogRow> rows;  // by time
    LogPlace next;
    bool more = false;  // there is another piece already
  };
  // The rows behind that place, of builds and trials those with something to say.
  Outcome<Log> log(Id experiment, LogPlace after);

  Outcome<std::vector<Build>> builds(Id experiment);  // in the order in which they were first added

  // In the order of positions and attempts. Stops when `row` returns false. Fails at the first
  // damaged row; what was passed on before must then not be used either. `row`
  // must not change the store; the trial is gone when it returns.
  Outcome<void> for_each_trial(Id experiment, const std::function<bool(const Trial&)>& row);

  // The names that occur in its trials, from rows that are not checked for damage. Factors in their
  // order, readings in that of their first appearance.
  struct Names {
    std::vector<std::string> factors;
    std::vector<std::string> readings;
  };
  Outcome<Names> names(Id experiment);

  // What a resumed session must know: per position, the number of attempts and the status of the
  // last one.
  struct Progress {
    std::uint32_t position = 0;
    std::uint32_t attempts = 0;
    std::uint32_t disturbed = 0;  // of these
    bool done = false;            // its last attempt has the mark `last`
    TrialStatus status = TrialStatus::not_started;
    std::int64_t wall_ns = 0;  // of all of them
  };
  // By position; those without an attempt are not in it.
  Outcome<std::vector<Progress>> progress(Id experiment, Positions among = {});

  Outcome<std::vector<Calibration>> calibrations(Id machine);  // oldest first
  Outcome<std::vector<Event>> events(Id experiment);           // oldest first; 0: the daemon's own

 protected:
  // `held` is let go of after the connection is closed.
  Reader(std::string path, std::unique_ptr<Connection> connection, std::shared_ptr<void> held);
  [[nodiscard]] const std::string& path() const { return path_; }
  Connection& connection() { return *connection_; }

 private:
  std::string path_;
  std::shared_ptr<void> held_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace stab::store
