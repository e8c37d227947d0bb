// SPDX-License-Identifier: MIT
// Work on the database that is done in pieces while no trial runs: removals of experiments and of
// old data, and imports, whose clients wait. Between two pieces the loop turns, so that clients are
// answered meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "stabd/daemon/asker.h"
#include "stabd/daemon/clock.h"
#include "stabd/daemon/imports.h"
#include "stabd/settings/settings.h"
#include "stabd/upkeep/upkeep.h"
#include "store/store.h"

namespace stab::daemon {

class Maintenance {
 public:
  // `changed` is called whenever import_runs_beside() may have changed.
  Maintenance(Clock& clock, store::Store& store, const settings::Retention& retention,
              std::function<void()> changed);

  // Continues the removals that an earlier daemon began, and looks for old data, now and later.
  void start();
  // No further piece begins after the next one.
  void stop() { stopped_ = true; }
  void use_retention(const settings::Retention& retention);

  // Hides the experiment at once and removes it later. It must have ended or never begun.
  store::Outcome<void> remove(const store::Experiment& experiment, std::string_view how);
  // Imports a client's archive, whose parts are in the client's `spool` (imports.h). The client
  // gets its answer later.
  Result<void> import(Asker& client, std::uint32_t uid, std::shared_ptr<archive::Spool>& spool);

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
