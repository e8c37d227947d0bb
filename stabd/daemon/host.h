// SPDX-License-Identifier: MIT
// The machine under the daemon: accounts of users, the CPUs that the daemon keeps to, the settings
// that plans may change, the daemon's folders, and a look whether the machine is quiet. Accounts
// maps user ids to accounts: the owner of a range of subordinate ids (/etc/subuid) can act as every
// user in it, so limits count all of them as one account.
//
// Invariants
//  A1  An id belongs to the owner of its range; if ranges overlap, the first one counts. A range of
//      root or of the daemon's own user is an account of its own: nobody becomes trusted through a
//      range.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "machine/observer.h"
#include "machine/quiet/quiet.h"
#include "stabd/daemon/part.h"
#include "stabd/settings.h"

namespace stab::daemon {

class Accounts {
 public:
  using UidOf = std::function<std::optional<std::uint32_t>(const std::string& name)>;
  // Reads the ranges from the file; without a readable file there are no ranges. look_again() reads
  // a file that has changed.
  explicit Accounts(std::string path, std::uint32_t owner);
  Accounts(std::string_view text, std::uint32_t owner, const UidOf& uid_of);

  // The account of this user.
  [[nodiscard]] std::uint32_t of(std::uint32_t uid) const;
  [[nodiscard]] bool is_same(std::uint32_t one, std::uint32_t other) const {
    return of(one) == of(other);
  }
  void look_again();
  // `changed` is called now, and whenever look_again() has read a changed file.
  void tell(std::function<void()> changed);

 private:
  void read(std::string_view text, const UidOf& uid_of);

  struct Range {
    std::uint32_t last = 0;
    std::uint32_t account = 0;
  };
  std::string path_;
  std::uint32_t owner_;
  std::function<void()> changed_{};
  struct stat seen_{};
  std::map<std::uint32_t, Range> ranges_;  // by first id; ranges don't overlap
};

// The daemon should not run on the trials' CPUs.

// The CPUs on which this process may run now; empty if the kernel doesn't say.
std::vector<unsigned> current_cpus();

// If we can't move, we stay where we are and log it: that only adds noise.
void run_on(const std::vector<unsigned>& cpus);

// Decides whose plans may change settings of the machine, and puts back the settings that a killed
// daemon left changed.

struct Submitter {
  std::uint32_t uid = 0;
  bool trusted = false;  // root, or the daemon's own user
};

// Whether plans of this user may change settings; the error says what forbids it.
Result<void> may_quiesce(settings::Quiescers who, const Submitter& submitter, bool moves_processes);

// Changes the knobs that plans of this user may change. If the user may not move processes, the
// outcomes include a refusal for the knobs that do. On an error nothing has changed.
Result<std::vector<machine::Outcome>> quiesce_allowed(machine::Keeper& keeper,
                                                      settings::Quiescers who,
                                                      const Submitter& submitter,
                                                      std::span<const machine::Knob* const> knobs,
                                                      const machine::CpuChoice& cpus);

// Puts back the settings that a killed daemon left changed, and logs that. If another daemon has
// the machine, this is left to it.
void put_back_what_was_left(const std::string& logs, const std::string& root);

// The next functions make the daemon's folders with the right permissions.

// Makes a folder that only its owner may enter, because plans, their output and copies of their
// sources are private.
Result<void> make_private_folder(const std::string& path);

// Makes a folder and its missing parents. If we are root, other users may pass through it to the
// socket or to their builds.
Result<void> make_passable_folder(const std::string& path);

// An earlier version made such folders for root alone. If this folder is one, logs how to open it.
void warn_if_closed(const std::string& path);

// The path of the database in the state folder.
std::string database_in(const std::string& state_folder);

// Watches the machine for a moment while no trial runs, for an experiment that waits for a quiet
// machine.
class QuietLook {
 public:
  // `loud` says what was not quiet, or is "", and `missing` lists the bounds that can't be checked
  // here.
  using OnLook =
      std::function<void(const std::string& loud, const std::vector<std::string>& missing)>;

  // `root` is a prefix for /proc and /sys, for tests.
  QuietLook(Clock& clock, std::string root);

  // Begins a look, in place of one that has begun already. `done` is called once, from the loop.
  void begin(const machine::CpuSet& trial, const machine::CalmBounds& bounds, OnLook done);
  // After this, `done` is not called.
  void stop();

 private:
  struct Looking {
    machine::Calm calm;
    Clock::Time since;
    OnLook done;
  };
  void end();

  Clock& clock_;
  std::string root_;
  std::optional<Looking> looking_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace stab::daemon
