// SPDX-License-Identifier: MIT
// Counts events of a process and of all that it starts, from its exec to their end.
//
// A reading is counted, scaled where the kernel shared the counters (with the part of the time in
// which it did count), or absent with the reason in plain words. Never a 0 for what could not be
// counted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/fd.h"
#include "counters/events/event.h"
#include "counters/reading.h"

namespace stab::counters {

// Events that are counted at the same time or not at all.
using Group = std::vector<Event>;

// One event on a process that has not called exec yet; 0: on this one. With the descriptor of a
// group's first event it is counted when that is. The error says why not, and what would mend it.
std::expected<Fd, std::string> open_event(const Event& event, pid_t process, int leader = -1);

// Why the kernel refused to open it, by the error number, and what would mend that.
std::string reason_of(const Event& event, int error);

// The events of these names, in their groups. The error is that of the first name that is none.
Result<std::vector<Group>> find_groups(const std::vector<std::vector<std::string>>& names);
// The same, but a name that is none stays as an event that cannot be counted: somebody else, as root
// with its tracepoints, may know it.
std::vector<Group> groups_of(const std::vector<std::vector<std::string>>& names);

// As perf_event_open(2) has it for what open_event opens.
struct Counted {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0;  // ns
  std::uint64_t running = 0;
};
Reading reading_of(const Event& event, const Counted& counted);

class Counting {
 public:
  explicit Counting(std::vector<Group> groups) : groups_(std::move(groups)) {}

  // Of the events that this process could not count: why not. Groups as begin() has them.
  std::vector<Reading> lacking();

  // Whether this process had all of them counted at the same time for a moment. Those that it cannot
  // count at all do not matter.
  bool fits();

  // The process waits before exec, and begins to be counted there.
  void begin(pid_t process);
  // When all that it started has ended: a reading for each event, in their order. All are absent
  // unless begin() was called before.
  std::vector<Reading> end();

 private:
  using Open = std::expected<Fd, std::string>;

  std::vector<Group> groups_;
  std::vector<Open> open_;  // of all groups' events, in their order
};

// How many of such an event this machine counts at the same time, at most `limit`; an error says
// why it counts none.
std::expected<unsigned, std::string> counted_at_once(const Event& event, unsigned limit);

}  // namespace stab::counters
