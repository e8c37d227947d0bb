// SPDX-License-Identifier: MIT
// The only truth: one SQLite database in WAL mode with synchronous=FULL. doc/store.md describes the
// file.
//
// Invariants
//  S1  When a call that adds or changes rows returns success, the change survives kill -9 and power
//      loss. When it returns an error, nothing has changed and the same call may be made again.
//  S2  A trial attempt and its readings are one row: all or nothing.
//  S3  (experiment, position, attempt) is stored at most once; a second insert is an error.
//  S4  Every row carries a checksum of its content. A row that does not match is reported, never
//      used: a read that meets one fails and names table and row. verify() finds all of them.
//  S5  One process writes: the holder of the lock file beside the database.
//  S6  Nothing is written into a file whose structure is damaged (verify.h): what is there can still
//      be read, and 'stabctl recover' makes a whole one of it.
//  S7  An experiment that is being removed is in no answer of experiment(), experiments() and
//      summaries() any more, and what is left of it goes in pieces of at most piece_of_removal rows
//      of a table, of which all but the last have less than bytes_of_removal. Its id is not given
//      to another one.
//  S8  A retry that has begun is ended: an experiment in the state being_retried, also one that a
//      killed process left, has attempts that are to stand no longer. They go in pieces, too.
//
// Not thread-safe; the daemon's loop thread owns it. A forked child must not touch it. Errors that
// pass with time (disk full, read-only file system, I/O error) have `temporary` set: the caller
// keeps what it has and tries again.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/reader.h"
#include "store/rows/row.h"

namespace stab::store {

inline constexpr std::int64_t piece_of_removal = 50;
inline constexpr std::int64_t bytes_of_removal = std::int64_t{256} << 10;
// Of a retry: so many attempts are looked at, and no more of them are written than of a removal.
inline constexpr std::int64_t piece_of_retry = 1000;

class Sizes;
class Summaries;

class Store : public Reader {
 public:
  // Creates the database or opens an existing one, migrates it, takes the lock. Fails with the pid
  // of the holder if another process has it, and if the file was written by a newer version or is
  // not a database of stabd; that file is then unchanged. Checksums are not looked at: call
  // verify().
  static Outcome<std::unique_ptr<Store>> open(const std::string& path);
  ~Store() override;

  Outcome<Id> add_machine(
      const Machine& machine);  // the id of the row with the same key if there is an intact one

  Outcome<Id> add_experiment(const Experiment& experiment);  // its id field is ignored
  Outcome<void> update_experiment(
      const Experiment& experiment);  // all columns; an unknown id is an error
  Outcome<void> add_build(
      const Build& build);  // replaces the one with the same experiment, benchmark and key
  // All or none of them, in one transaction.
  Outcome<void> add_builds_and_events(std::span<const Build> builds, std::span<const Event> events);

  // Stores an attempt (S1-S3). If trial.last is set, earlier attempts at the same position lose the
  // mark.
  Outcome<void> add_trial(const Trial& trial);
  // All or none of them, as if each had been added by itself, in one transaction.
  Outcome<void> add_trials(std::span<const Trial> trials);

  // All or none of them; each replaces the one with the same machine, time, name, scope and
  // benchmark.
  Outcome<void> add_calibrations(const std::vector<Calibration>& calibrations);

  Outcome<void> add_event(const Event& event);

  // Whether somebody paused the whole queue. To pause or resume it stores the new state and an event about it.
  Outcome<bool> is_queue_paused();
  Outcome<void> pause_queue(bool paused, const Event& event);

  // What was removed is still in the log. False where somebody reads just now: then it stays.
  Outcome<bool> empty_log();
  // S7: from here on nobody sees it. `why` becomes an event of the database itself. An unknown id is
  // an error.
  Outcome<void> begin_removal(Id experiment, std::string_view why);
  // Those whose removal has begun and not ended.
  Outcome<std::vector<Id>> removals();
  // Removes a piece; false: nothing is left of it.
  Outcome<bool> go_on_with_removal(Id experiment);

  // Ages are counted by a clock that nobody sets, whose state is kept here for its owner; "": it has none yet.
  Outcome<std::string> age_clock();
  // When that clock said so, somebody saw first that the experiment had ended at ended_ns, by the time of day.
  struct SeenEnd {
    Id experiment = 0;
    std::int64_t ended_ns = 0;
    std::int64_t seen_ns = 0;
    bool output_forgotten = false;  // since

    bool operator==(const SeenEnd&) const = default;
  };
  // Of each experiment the last one that was kept. A row that is damaged is missing here, and stays.
  Outcome<std::vector<SeenEnd>> seen_ends();
  Outcome<void> keep_ages(const std::string& clock, std::span<const SeenEnd> ends);
  // A trial of an experiment; before the first one.
  struct Place {
    std::int64_t position = -1;
    std::int64_t attempt = 0;
  };
  // Of the next piece of trials the text goes, hashes stay. Returns where to go on; nothing at the
  // end, when that of builds goes, too, `why` becomes an event, and the end that was seen says so.
  Outcome<std::optional<Place>> forget_output(Id experiment, Place after, std::string_view why);

  // Standing attempts behind that place which failed or were skipped, of a piece; where the next one
  // begins, or nothing behind the last one. Fails at one that is damaged.
  struct Failed {
    std::uint64_t count = 0;
    std::optional<Place> next;
  };
  Outcome<Failed> failed(Id experiment, Place after);
  // S8: stores the row in the state being_retried; fails if its state is not `state_before`.
  Outcome<void> begin_retry(const Experiment& experiment, std::string_view state_before);
  // Of a piece of them: they stand no longer. Where to go on; nothing at the end, when the caller
  // stores the row in its next state.
  Outcome<std::optional<Place>> go_on_with_retry(Id experiment, Place after);

  // Attempts at the positions from `from` to before `end` stand no longer: those trials are measured again.
  Outcome<void> reopen(Id experiment, std::uint32_t from, std::uint32_t end);

  // About, and with all that is being removed: what a user's experiments take, and what one does.
  [[nodiscard]] std::uint64_t bytes_of_user(std::uint32_t uid) const;
  [[nodiscard]] std::uint64_t bytes_of_experiment(Id experiment) const;

  // All experiments without their plans, in memory from the first call on: a row that is damaged
  // after that is found by who reads it. To be used before the next call of this store.
  Outcome<const Summaries*> summaries();

  // S6: from here on every change is refused with this reason.
  void refuse_changes(std::string why) { refusal_ = std::move(why); }
  // "": changes are stored.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  Store(const std::string& path, std::unique_ptr<Connection> connection,
        std::shared_ptr<void> lock);
  Outcome<void> write(std::string_view what, const std::function<void()>& action);
  Outcome<Id> add(std::string_view what, const std::function<Id()>& action);
  void insert(const Trial& trial);
  void insert(const Event& event);
  void insert_or_replace(const Build& build);
  Id last_removed();  // the highest id that a removed experiment had
  void remove_rest(Id experiment);
  // Those attempts stand no longer; how many they are.
  std::uint64_t unmark(std::string_view which, std::initializer_list<Value> arguments);

  void store_with_room(const std::function<void()>& action);
  void now_stored(const Experiment& experiment);

  std::unique_ptr<Sizes> sizes_;
  std::unique_ptr<Summaries> summaries_;  // nothing before somebody asks
  std::string refusal_;
};

}  // namespace stab::store
