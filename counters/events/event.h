// SPDX-License-Identifier: MIT
// What the kernel can count, by name: "cycles", "L1-dcache-load-misses:u", "r01c4",
// "skl::INST_RETIRED:ANY_P", "sched:sched_switch", "cpu/event=0x3c,umask=0x1/u" for what a device of
// the kernel's counts, and "mem:0xADDRESS[/LENGTH][:rwx]" for accesses to an address. The other names
// and attributes are libpfm's, with hyphens and in any case.
//
// A name says what is counted and nothing is changed about it: "cycles" are those of the program
// and of the kernel on its behalf, "cycles:u" those of the program. Accesses to an address are the
// program's own: what read(2) stores there is none.
#pragma once

#include <linux/perf_event.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace stab::counters {

struct Event {
  std::string name;        // as it was asked for
  perf_event_attr attr{};  // what to count: type, config, which side; no state of a descriptor
  std::string unknown{};   // why it is no event here, which then cannot be counted; "" if it is one

  // "ns" of clocks, else "".
  [[nodiscard]] std::string_view unit() const;
  // Whether it counts things that only happen in the kernel, as switches of tasks do: without the
  // kernel's side there is no number, although the kernel would give a 0.
  [[nodiscard]] bool is_of_kernel() const;
  // The name of the same event without the kernel's side, and whether this name says a side.
  [[nodiscard]] std::string on_program_side() const;
  [[nodiscard]] bool has_side() const;
  // Whether a counter of the CPU does it.
  [[nodiscard]] bool is_of_hardware() const;
};

// An error says what is wrong with the name, and what was perhaps meant. What may be a tracepoint
// where this user may not look tracepoints up is an event that is unknown: others may know it.
Result<Event> find_event(std::string_view name);

// The files in which the kernel says that it has perf events, and what counts in its CPUs.
inline constexpr const char* paranoid_file = "/proc/sys/kernel/perf_event_paranoid";
bool has_hardware_counters();

// One that has a name for this machine's CPU and kernel. It need not be countable.
struct Listed {
  std::string name;
  std::string same_as;  // the name of which it is another; "" if none
  std::string meaning;
  std::string source;  // "perf", "amd64_fam19h_zen4"
  std::vector<std::string> attributes;
};
std::vector<Listed> list_events();

}  // namespace stab::counters
