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

#include "runtime/base/options.h"
#include "runtime/base/outside_handlers.h"
#include "runtime/epoch/counts.h"

namespace stab::rt {

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

// Makes a new layout now, on this thread.
void randomize_now();

// A thread that libc started calls this first. The thread gets an alarm, or runs the epoch that is
// due.
void begin_thread();

// No epoch begins while an object of this type exists. Its constructor waits for the current epoch
// to end.
class NoEpochs {
 public:
  explicit NoEpochs(const OutsideHandlers& proof);
  ~NoEpochs();
  NoEpochs(const NoEpochs&) = delete;
  NoEpochs& operator=(const NoEpochs&) = delete;
};

}  // namespace stab::rt
