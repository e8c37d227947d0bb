// SPDX-License-Identifier: MIT
// Frees the allocations that steps on a cluster have left, for example because the cluster's
// controller was away when they ended. The users who may have some are in a file, so the next daemon
// goes on. Attempts are short, and there is one at a time.
//
// Invariants
//  A1  A user is in the file before the user's step starts, and until an attempt has found that no
//      job is left.
//  A2  No attempt for a user runs while a step may start or run: it would cancel that step's job.
#pragma once

#include <boost/describe.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/containment.h"
#include "stabd/daemon/part.h"

namespace stab::daemon {

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::string> jobs{};  // the names of the jobs of the steps that this user has started
};
BOOST_DESCRIBE_STRUCT(Owner, (), (uid, gid, jobs))

// The file of a daemon with this state directory.
std::string allocations_in(const std::string& state_directory);
// The users in such a file; none if there is no file.
Result<std::vector<Owner>> read_owners(const std::string& file);

class Allocations {
 public:
  // A process that exits with 0 if none of the user's jobs is left. It ends when `daemon` is closed.
  struct Attempt {
    machine::Contained process;
    Fd daemon;
  };
  using Start = std::function<Result<Attempt>(const Owner&)>;
  Allocations(Clock& clock, std::string file, Start start);
  ~Allocations();
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  // Reads the file of an earlier daemon, and begins to free what that has left.
  Result<void> take_over();
  // A step of this user is about to start, as the jobs with these names.
  Result<void> step_starts(const Owner& owner);
  // No step is left: the processes that stand in for workers have ended.
  void step_ended();
  // Whether the cluster may still hold allocations.
  [[nodiscard]] bool has_owners() const { return !owners_.empty(); }
  // The daemon ends soon, and no step is left. Looks often from now on, and calls `freed` when the
  // cluster holds no allocation.
  void hurry(std::function<void()> freed);

 private:
  static constexpr std::chrono::seconds period{10};
  static constexpr std::chrono::seconds longest_pause{640};
  // The same for a daemon that ends soon.
  static constexpr std::chrono::milliseconds short_period{100};
  static constexpr std::chrono::milliseconds short_pause{1000};
  void look();
  void try_later();
  void abandon();
  [[nodiscard]] Result<void> save() const;

  std::string file_;
  Start start_;
  std::vector<Owner> owners_;
  std::optional<Attempt> attempt_;       // for the first of owners_
  unsigned looks_ = 0;                   // since the attempt has started
  std::unique_ptr<Timer> timer_;         // runs while there are owners and no step
  std::chrono::seconds pause_ = period;  // before the next attempt; longer after each failure
  bool told_ = false;
  std::function<void()> freed_;  // set while the daemon ends
};

}  // namespace stab::daemon
