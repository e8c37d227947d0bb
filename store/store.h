// SPDX-License-Identifier: MIT
// All experiments and their results, in one SQLite database in WAL mode with synchronous=FULL.
// doc/store.md describes the file.
//
// Invariants
//  S1  When a call that adds or changes rows returns success, the change survives kill -9 and power
//      loss. When it returns an error, nothing has changed and the caller may repeat the call.
//  S2  A trial attempt and its readings are one row: all or nothing.
//  S3  (experiment, position, attempt) is stored at most once; a second insert is an error.
//  S4  Every row has a checksum of its content. A row that does not match it is never used: a read
//      that meets one fails and names its table and row. verify() finds all of them.
//  S5  Only one process writes: the one that holds the lock file beside the database.
//  S6  Nothing is written into a file whose structure is damaged (verify.h). Its rows can still be
//      read, and 'stabctl recover' makes an intact database of them.
//  S7  experiment(), experiments() and summaries() leave out an experiment that is being removed.
//      Its rows are removed in pieces. A piece ends after piece_of_removal rows of a table, or when
//      its rows reach bytes_of_removal. The id is never given to another experiment.
//  S8  A retry that has begun is finished, if need be by another process. While an experiment is in
//      the state being_retried, its failed attempts lose the mark `last`, also in pieces.
//
// Not thread-safe; the daemon's loop thread owns it. A forked child must not touch it. Errors that
// may pass with time (disk full, read-only file system, I/O error) have `temporary` set: the caller
// keeps its data and tries again.
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
// A piece of a retry, or of the removal of output, looks at so many attempts at most, and writes no
// more of them than a piece of a removal has.
inline constexpr std::int64_t piece_of_retry = 1000;

// The number of the account to which a user belongs.
using AccountOf = std::function<std::uint32_t(std::uint32_t uid)>;

// The approximate size of the experiments of all users of an account.
struct BytesOfAccount {
  std::uint64_t all = 0;
  std::uint64_t hidden = 0;  // those that nobody sees yet, or that are being removed (S7)
};

class Sizes;
class Summaries;

class Store : public Reader {
 public:
  // Takes the lock, creates the database or opens an existing one, and migrates it. Fails if
  // another process has the lock (the error names its pid), if a newer version wrote the file, or
  // if it is not a database of stabd; the file is then unchanged. Does not check checksums: call
  // verify().
  static Outcome<std::unique_ptr<Store>> open(const std::string& path);
  ~Store() override;

  // Returns the id of an intact row with the same key and content, or of a new row. If another row
  // has the key, the new row gets a key of its own.
  Outcome<Id> add_machine(const Machine& machine);

  Outcome<Id> add_experiment(const Experiment& experiment);  // ignores its id field
  // Writes all columns. An unknown id is an error.
  Outcome<void> update_experiment(const Experiment& experiment);
  // Replaces a build with the same experiment, benchmark and key.
  Outcome<void> add_build(const Build& build);
  // Adds all or none of them, in one transaction.
  Outcome<void> add_builds_and_events(std::span<const Build> builds, std::span<const Event> events);

  // Stores an attempt (S1-S3). If trial.last is set, earlier attempts at the same position lose
  // that mark.
  Outcome<void> add_trial(const Trial& trial);
  // Adds all or none of them in one transaction, with the effect of add_trial() for each. A caller
  // who knows that no earlier attempt has the mark spares the store a look at each of them.
  enum class Earlier { may_be_marked, are_not_marked };
  Outcome<void> add_trials(std::span<const Trial> trials, Earlier earlier = Earlier::may_be_marked);

  // Adds all or none of them. Each replaces a calibration with the same machine, time, name, scope
  // and benchmark.
  Outcome<void> add_calibrations(const std::vector<Calibration>& calibrations);

  Outcome<void> add_event(const Event& event);

  // Whether somebody paused the whole queue. To pause or resume it stores the new state and an event about it.
  Outcome<bool> is_queue_paused();
  Outcome<void> pause_queue(bool paused, const Event& event);

  // Empties the write-ahead log, which still has removed rows. Returns false, and leaves it, if
  // another process is reading now.
  Outcome<bool> empty_log();
  // S7: from now on nobody sees the experiment. `why` becomes an event of the database itself. An
  // unknown id is an error.
  Outcome<void> begin_removal(Id experiment, std::string_view why);
  // The experiments whose removal has begun but not ended.
  Outcome<std::vector<Id>> removals();
  // Removes a piece. Returns false if nothing is left of the experiment.
  Outcome<bool> go_on_with_removal(Id experiment);

  // Ages are measured with a clock that nobody can set, whose state its owner stores here; "" if
  // there is no state yet.
  Outcome<std::string> age_clock();
  // When that clock showed seen_ns, the experiment was first seen to have ended. ended_ns is the
  // time of day at which it ended.
  struct SeenEnd {
    Id experiment = 0;
    std::int64_t ended_ns = 0;
    std::int64_t seen_ns = 0;
    bool output_forgotten = false;  // its output has been removed since then

    bool operator==(const SeenEnd&) const = default;
  };
  // The last stored SeenEnd of each experiment. A damaged row is left out, and stays in the store.
  Outcome<std::vector<SeenEnd>> seen_ends();
  Outcome<void> keep_ages(const std::string& clock, std::span<const SeenEnd> ends);
  // An attempt's place in its experiment; by default before the first one. forget_output() goes on
  // with the builds after the last attempt.
  struct Place {
    std::int64_t position = -1;
    std::int64_t attempt = 0;
    Id build = 0;  // the last build that was looked at
  };
  // Removes the output of the next piece of trials or builds, but keeps the hashes. Returns the
  // place to continue at. At the end it stores `why` as an event, notes that in the experiment's
  // SeenEnd, and returns nothing.
  Outcome<std::optional<Place>> forget_output(Id experiment, Place after, std::string_view why);

  // Counts the attempts in the next piece that count (`last`) but failed or were skipped. `next` is
  // the place to continue at, or nothing at the end. Fails at a damaged attempt.
  struct Failed {
    std::uint64_t count = 0;
    std::optional<Place> next;
  };
  Outcome<Failed> failed(Id experiment, Place after);
  // S8: stores the row with the state being_retried. Fails if the stored state is not
  // `state_before`.
  Outcome<void> begin_retry(const Experiment& experiment, std::string_view state_before);
  // The failed attempts in the next piece lose the mark `last`. Returns the place to continue at,
  // or nothing at the end; then the caller stores the row with its next state.
  Outcome<std::optional<Place>> go_on_with_retry(Id experiment, Place after);

  // Attempts at the positions [from, end) lose the mark `last`, so that these trials are measured
  // again.
  Outcome<void> reopen(Id experiment, std::uint32_t from, std::uint32_t end);

  // The approximate size of the experiments of this user's account, or of one experiment. Neither
  // visits all experiments.
  [[nodiscard]] BytesOfAccount bytes_of_account(std::uint32_t uid) const;
  [[nodiscard]] std::uint64_t bytes_of_experiment(Id experiment) const;
  // Says which users share an account; without this call, each user has one. Call it again whenever
  // `account_of` gives other answers than before.
  void use_accounts(AccountOf account_of);

  // All experiments without their plans, which stay in memory after the first call; later damage to
  // a row is found only when the row itself is read. Use the result before the next call of this
  // store.
  Outcome<const Summaries*> summaries();

  // S6: from now on every change is refused with this reason.
  void refuse_changes(std::string why) { refusal_ = std::move(why); }
  // Why changes are refused; "" if they are stored.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  Store(const std::string& path, std::unique_ptr<Connection> connection,
        std::shared_ptr<void> lock);
  Outcome<void> write(std::string_view what, const std::function<void()>& action);
  Outcome<Id> add(std::string_view what, const std::function<Id()>& action);
  void insert(const Trial& trial, Earlier earlier);
  void insert(const Event& event);
  void insert_or_replace(const Build& build);
  Id last_removed();  // the highest id that a removed experiment had
  void remove_rest(Id experiment);
  // Takes the mark `last` from these attempts, and returns their number.
  std::uint64_t unmark(std::string_view which, std::initializer_list<Value> arguments);

  void store_with_room(const std::function<void()>& action);
  void now_stored(const Experiment& experiment);

  std::unique_ptr<Sizes> sizes_;
  std::unique_ptr<Summaries> summaries_;  // nullptr until the first call of summaries()
  std::string refusal_;
};

}  // namespace stab::store
