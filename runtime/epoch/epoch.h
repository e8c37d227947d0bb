// SPDX-License-Identifier: MIT
// Epochs: after each period of CPU time, on the thread whose alarm comes first, all threads stop,
// the functions that were called get new places, frames are moved, and layouts that nothing refers
// to any more become free again.
//
// Invariants:
//   1. The handler allocates nothing from libc, takes no lock of libc and uses no stdio.
//   2. A thread that is not stopped (it sleeps, or did not answer) is safe: an epoch changes
//      nothing that the thread may run or read, except single aligned words that are right before
//      and after, and pages of stubs, which are replaced as a whole.
//   3. A layout is used again only after every thread was seen, at some epoch since the layout was
//      retired, not to refer to it. From then on no thread can come to refer to it.
//   4. There is one epoch at a time, and code that changes the list of images keeps epochs out
//      meanwhile.
#pragma once

#include <stdint.h>

#include "runtime/base/handler_proofs.h"
#include "runtime/base/options.h"

namespace stab::rt {

// The results of a run's epochs.
struct EpochCounts {
  uint64_t layouts = 1;       // that the run has seen, including the first
  uint64_t given_up = 0;      // epochs that left the layout as it was
  const char* why = nullptr;  // the reason for the last one given up
  uint64_t total_ns = 0;
  uint64_t longest_ns = 0;
  uint64_t layouts_kept = 0;  // the most old ones at a time that something might refer to
  uint64_t frames_moved = 0;  // return addresses and program counters
  uint64_t period_ns = 0;     // as asked for; 0: no period
  uint64_t achieved_ns = 0;   // CPU time for each new layout; 0: there was no new layout
  // The largest number, at one time, of running threads that had no alarm while the process had no
  // timer as a fallback, and the CPU time by which epochs came late then.
  uint64_t without_alarm = 0;
  uint64_t late_ns = 0;
};

// Returns nullptr, or the reason why there will be no epochs.
const char* start_epochs(const Options& options, const OutsideHandlers& proof);
// Stops epochs for good, in later children of fork, too.
void stop_epochs(const OutsideHandlers& proof);
// The same, for a reason that the report gives.
void end_epochs(const char* why, const OutsideHandlers& proof);
// Keeps epochs out until resume_epochs() has been called as often as pause_epochs(). The last of
// these calls returns true.
void pause_epochs(const OutsideHandlers& proof);
bool resume_epochs(const OutsideHandlers& proof);
EpochCounts epoch_counts();

// False in a child (vfork, clone) that has no schedule of its own.
bool is_own_process();

// Makes a new layout now, on this thread. A handler of the program may call this, so it does not
// wait: while a thread keeps epochs out (fork, NoEpochs), the call only counts as an epoch that was
// given up. If another thread runs an epoch, that is the epoch of this call.
void randomize_now();

// A thread that libc started calls this first. The thread gets an alarm, or runs the epoch that is
// due.
void begin_thread();

// No epoch begins while an object of this type exists. Its constructor waits for the current epoch
// to end. It doesn't wait if its own thread keeps epochs out already: a signal handler that
// interrupts dlopen may call exit. If another thread keeps epochs out for too long, the constructor
// returns, and no epoch comes any more.
class NoEpochs {
 public:
  explicit NoEpochs(const OutsideHandlers& proof);
  ~NoEpochs();
  NoEpochs(const NoEpochs&) = delete;
  NoEpochs& operator=(const NoEpochs&) = delete;

 private:
  bool is_nested_;
};

}  // namespace stab::rt
