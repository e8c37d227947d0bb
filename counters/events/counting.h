// SPDX-License-Identifier: MIT
// Counts events of a process and all its descendants, from its exec until they end.
//
// A reading is counted, scaled if the kernel shared the counters (with the share of the time in
// which it was counted), or absent with a reason in plain words. An event that could not be counted
// is never reported as 0.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/fd.h"
#include "counters/events/event.h"
#include "counters/readings.h"

namespace stab::counters {

// Events that are counted at the same time or not at all.
using Group = std::vector<Event>;

// Opens one event on a process that has not called exec yet; 0 is this process. `leader` is the
// descriptor of the first event of its group, with which the event is counted, or -1. The error
// says why the event can't be counted, and how to fix it.
std::expected<Fd, std::string> open_event(const Event& event, pid_t process, int leader = -1);

// Explains the error number with which the kernel refused to open the event, and says how to fix
// it.
std::string reason_of(const Event& event, int error);

// Finds the events by their names, in groups. The error is about the first name that is not an
// event.
Result<std::vector<Group>> find_groups(const std::vector<std::vector<std::string>>& names);
// The same, but an unknown name becomes an event that can't be counted, because another user may
// know it: only root, for example, may see tracepoints.
std::vector<Group> groups_of(const std::vector<std::vector<std::string>>& names);

// The data that read(2) returns for an event that open_event() opened; see perf_event_open(2).
struct Counted {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0;  // ns
  std::uint64_t running = 0;
};
Reading reading_of(const Event& event, const Counted& counted);

class Counting {
 public:
  explicit Counting(std::vector<Group> groups) : groups_(std::move(groups)) {}

  // Tries to count the events in this process, in the same groups as begin(). Returns an absent
  // reading, with the reason, for each event that can't be counted.
  std::vector<Reading> lacking();

  // Whether all events could be counted at the same time for a moment in this process. Events that
  // can't be counted at all do not matter.
  bool fits();

  // Must be called while the process waits before exec. Counting begins at the exec.
  void begin(pid_t process);
  // Must be called after the end of the process and its descendants. Returns a reading for each
  // event, in order. All are absent unless begin() was called before.
  std::vector<Reading> end();

 private:
  using Open = std::expected<Fd, std::string>;

  std::vector<Group> groups_;
  std::vector<Open> open_;  // for the events of all groups, in order
};

// How many instances of this event the machine can count at the same time, at most `limit`. The
// error says why it can't count even one.
std::expected<unsigned, std::string> counted_at_once(const Event& event, unsigned limit);

}  // namespace stab::counters
