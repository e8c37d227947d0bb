// SPDX-License-Identifier: MIT
// Work on the disk that is done in pieces, so that clients are answered in between: removals,
// imports, and large files that have no name any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/turns.h"
#include "stabd/archive.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/part.h"
#include "stabd/settings.h"
#include "stabd/upkeep.h"
#include "store/store.h"

namespace stab::daemon {

// Frees the space of large files that have no name any more.
class Leavings {
 public:
  explicit Leavings(Clock& clock);

  // Takes over the files of a spool. The function must not outlive this object.
  archive::Spool::Leave take() {
    return [this](Fd file) { add(std::move(file)); };
  }

 private:
  void add(Fd file);
  void free_some();

  std::deque<Fd> files_;
  std::unique_ptr<Timer> timer_;  // runs while there are files
};

// Imports of archives that a reader has verified and taken apart. The store takes the rows piece by
// piece, and accounts take turns.
class Imports {
 public:
  // An import that is given up leaves its rows to `upkeep`.
  Imports(store::Store& store, upkeep::Upkeep& upkeep, const Accounts& accounts)
      : store_(store), upkeep_(upkeep), accounts_(accounts) {}

  using MayStore = archive::Intake::MayStore;
  // Adds the import of a client's archive. `spool` has the archive's parts. It is the client's own
  // one, which is released when the client is answered. `may_store` is asked before each piece is
  // stored, because the rows may be larger than the archive, and other experiments of the user
  // grow, too.
  Result<void> begin(Asker& client, const archive::Receiver& receiver,
                     std::shared_ptr<archive::Spool>& spool, MayStore may_store);
  // Call this if the client goes before its answer.
  void give_up(const Asker& client);
  [[nodiscard]] bool empty() const { return imports_.empty(); }
  // Does a piece of the work; requires !empty(). The client is answered after the last piece.
  // Returns only errors that may pass with time; all others are the answer to the client.
  store::Outcome<void> go_on();

 private:
  struct Import {
    Asker* client;
    std::uint32_t uid;
    std::shared_ptr<archive::Spool>* spool;
    MayStore may_store;
    archive::Intake intake;
  };

  store::Store& store_;
  upkeep::Upkeep& upkeep_;
  const Accounts& accounts_;
  Turns<Import> imports_;
};

// Work on the database that is done in pieces while no trial runs: removals of experiments and of
// old data, and imports, whose clients wait. Between two pieces the loop turns, so that clients are
// answered meanwhile.
class Maintenance {
 public:
  // `changed` is called whenever import_runs_beside() may have changed.
  Maintenance(Clock& clock, store::Store& store, const Accounts& accounts,
              const settings::Retention& retention, std::function<void()> changed);

  // Continues the removals that an earlier daemon began, and looks for old data, now and later.
  void start();
  // No further piece begins after the next one.
  void stop() { stopped_ = true; }
  void use_retention(const settings::Retention& retention);

  // Hides the experiment at once and removes it later. It must have ended or never begun.
  store::Outcome<void> remove(const store::Experiment& experiment, std::string_view how);
  // Imports a client's archive, whose parts are in the client's `spool`. The client
  // gets its answer later.
  Result<void> import(Asker& client, const archive::Receiver& receiver,
                      std::shared_ptr<archive::Spool>& spool, Imports::MayStore may_store);

  // Call this whenever trials may have begun or ended.
  void trials_run(bool run);
  // Does one piece of work if there is one and no pause after an error or an unfinished log is due.
  // Call this also between two trials.
  void keep_up();
  // Whether an import has waited so long that it goes on beside trials.
  [[nodiscard]] bool import_runs_beside() const { return import_beside_; }

 private:
  void look_for_old();
  [[nodiscard]] bool has_work() const;
  void allow();

  Clock& clock_;
  settings::Retention retention_;
  std::function<void()> changed_;
  upkeep::Upkeep upkeep_;
  Imports imports_;
  bool stopped_ = false;
  bool trials_run_ = false;
  bool import_beside_ = false;
  bool import_was_last_ = false;  // whether the last piece of work was an import's, not a removal's
  std::chrono::milliseconds not_before_{0};  // compared with the clock's turn_began()
  std::unique_ptr<Timer> work_timer_;        // runs while there is work to do and no trial runs
  std::unique_ptr<Timer> import_timer_;      // runs while an import waits for trials
  std::unique_ptr<Timer> old_timer_;         // looks for experiments that are too old
};

}  // namespace stab::daemon
