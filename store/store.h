// SPDX-License-Identifier: MIT
// The only truth: one SQLite database in WAL mode with synchronous=FULL. doc/store.md describes the
// file.
//
// Invariants
//  S1  When a call that adds or changes rows returns success, the change survives kill -9 and power
//      loss. When it returns an error, nothing has changed and the same call may be made again.
//  S2  A trial attempt and its readings are stored in one transaction: all or nothing.
//  S3  (experiment, position, attempt) is stored at most once; a second insert is an error.
//  S4  Every row carries a checksum of its content. A row that does not match is reported, never
//      used: a read that meets one fails and names table and row. verify() finds all of them.
//  S5  One process writes: the holder of the lock file beside the database.
//
// Not thread-safe; the daemon's loop thread owns it. A forked child must not touch it. Errors that
// pass with time (disk full, read-only file system, I/O error) have `temporary` set: the caller
// keeps what it has and tries again.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/records.h"

namespace stab::store {

inline constexpr int schema_version = 6;

struct StoreError {
  std::string message{};
  bool temporary = false;
};
template <class T>
using Outcome = std::expected<T, StoreError>;

class Store {
 public:
  // Creates the database or opens an existing one, migrates it, takes the lock. Fails with the pid
  // of the holder if another process has it, and if the file was written by a newer version or is
  // not a database of stabd; that file is then unchanged. Checksums are not looked at: call
  // verify().
  static Outcome<std::unique_ptr<Store>> open(const std::string& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // All damage (S4), none if the vector is empty. Reads everything; `experiment` limits it to the
  // rows of one experiment and the machine that it ran on. An error means that the file could not
  // be read.
  Outcome<std::vector<Damage>> verify(std::optional<Id> experiment = std::nullopt);

  Outcome<Id> add_machine(
      const Machine& machine);  // the id of the row with the same key if there is one
  Outcome<std::optional<Machine>> machine(Id id);
  Outcome<std::vector<Id>> calibrated_machines();

  Outcome<Id> add_experiment(const Experiment& experiment);  // its id field is ignored
  Outcome<void> update_experiment(
      const Experiment& experiment);  // all columns; an unknown id is an error
  // The standing attempts that did not succeed stand no longer: their positions are open again.
  // Returns how many. The row is stored with it if there are any, or `always`.
  Outcome<std::uint64_t> open_again(const Experiment& experiment, bool always);
  Outcome<std::optional<Experiment>> experiment(Id id);
  // Those that are as they were written, oldest first, and what is wrong with the others.
  struct Experiments {
    std::vector<Experiment> intact;
    std::vector<Damage> damaged;
  };
  Outcome<Experiments> experiments();

  Outcome<void> add_build(
      const Build& build);  // replaces the one with the same experiment, benchmark and key
  Outcome<std::vector<Build>> builds(Id experiment);  // in the order in which they were first added

  // Stores an attempt (S1-S3). If trial.last is set, earlier attempts at the same position lose the
  // mark.
  Outcome<void> add_trial(const Trial& trial);
  // In the order of positions and attempts. Stops when `row` returns false. Fails at the first
  // damaged row or missing reading; what was passed on before must then not be used either. `row`
  // must not change the store.
  Outcome<void> for_each_trial(Id experiment, const std::function<bool(const Trial&)>& row);

  // What a resumed session must know: per position, the number of attempts and the status of the
  // last one.
  struct Progress {
    std::uint32_t position = 0;
    std::uint32_t attempts = 0;
    bool done = false;  // its last attempt has the mark `last`
    TrialStatus status = TrialStatus::not_started;
    std::int64_t wall_ns = 0;  // of all of them
  };
  Outcome<std::vector<Progress>> progress(
      Id experiment);  // by position; those without an attempt are not in it

  // All or none of them; each replaces the one with the same machine, time, name, scope and
  // benchmark.
  Outcome<void> add_calibrations(const std::vector<Calibration>& calibrations);
  Outcome<std::vector<Calibration>> calibrations(Id machine);  // oldest first

  Outcome<void> add_event(const Event& event);
  Outcome<std::vector<Event>> events(Id experiment);  // oldest first; 0: the daemon's own

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stab::store
