// SPDX-License-Identifier: MIT
// Epochs: after each period of CPU time, on the thread whose alarm comes first, all threads stop,
// the functions that were called get new places, frames move over, and layouts that nothing refers
// to any more are free again.
//
// Invariants:
//   1. The handler allocates nothing from libc, takes no lock of libc and uses no stdio.
//   2. A thread that is not stopped (it sleeps, or did not answer) is safe: nothing that it may run
//      or read is changed, but for single aligned words that are right before and after, and
//      for pages of stubs, which are replaced as a whole.
//   3. A layout is used again only when every thread was seen, at some epoch since it was retired,
//      not to refer to it; from then on none can come to.
//   4. One epoch at a time; whoever changes the list of images keeps epochs out meanwhile.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"
#include "runtime/base/outside_handlers.h"
#include "runtime/epoch/counts.h"

namespace stab::rt {

// nullptr, or why there will be no epochs.
const char* start_epochs(const Options& options, const OutsideHandlers& proof);
// Stops epochs for good, or until the process is a child of fork.
void stop_epochs(const OutsideHandlers& proof);
// The same, for a reason that the report has.
void end_epochs(const char* why, const OutsideHandlers& proof);
// Keeps epochs out until each call has been answered by one of resume_epochs, the last of which
// returns true.
void pause_epochs(const OutsideHandlers& proof);
bool resume_epochs(const OutsideHandlers& proof);
EpochCounts epoch_counts();

// Not a child that shares or has copied our memory.
bool is_own_process();

// A new layout now, on this thread.
void randomize_now();

// A thread that libc started calls this first: it gets an alarm, or the epoch that is due.
void begin_thread();

// No epoch begins while an object of this type exists. Its constructor waits for the end of the
// present one.
class NoEpochs {
 public:
  explicit NoEpochs(const OutsideHandlers& proof);
  ~NoEpochs();
  NoEpochs(const NoEpochs&) = delete;
  NoEpochs& operator=(const NoEpochs&) = delete;
};

}  // namespace stab::rt
