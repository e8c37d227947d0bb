// SPDX-License-Identifier: MIT
// Finds the events that the kernel can count by their names: "cycles", "L1-dcache-load-misses:u",
// "r01c4", "skl::INST_RETIRED:ANY_P", "sched:sched_switch", "cpu/event=0x3c,umask=0x1/u" for an
// event of one of the kernel's devices, and "mem:0xADDRESS[/LENGTH][:rwx]" for accesses to an
// address. All other names and attributes are libpfm's, with hyphens, in upper or lower case.
//
// stabd counts exactly what the name says: "cycles" are the cycles of the program and of the kernel
// on its behalf, "cycles:u" only those of the program. Accesses to an address are only the
// program's own, so data that read(2) stores there does not count.
#pragma once

#include <linux/perf_event.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace stab::counters {

struct Event {
  std::string name;  // as requested
  // The type, config and side of the event, without flags for the descriptor.
  perf_event_attr attr{};
  std::string unknown{};  // why this event is unknown here and can't be counted; "" if it is known

  // "ns" for clocks, else "".
  [[nodiscard]] std::string_view unit() const;
  // Whether it counts things that only happen in the kernel, such as context switches. Without the
  // kernel's side it has no value, although the kernel would return 0.
  [[nodiscard]] bool is_of_kernel() const;
  // The name of the same event without the kernel's side, and whether this name selects a side.
  [[nodiscard]] std::string on_program_side() const;
  [[nodiscard]] bool has_side() const;
  // Whether a counter of the CPU counts it.
  [[nodiscard]] bool is_of_hardware() const;
};

// The error says what is wrong with the name, and may suggest another name. If the name may be a
// tracepoint and this user can't see tracepoints, the result is an event with `unknown` set,
// because other users may know it.
Result<Event> find_event(std::string_view name);

// This file exists if the kernel has perf events. has_hardware_counters() tells whether the kernel
// can use the CPUs' counters.
inline constexpr const char* paranoid_file = "/proc/sys/kernel/perf_event_paranoid";
bool has_hardware_counters();

// An event with a name on this machine. It may still be impossible to count.
struct Listed {
  std::string name;
  std::string same_as;  // the event of which this is another name, or ""
  std::string meaning;
  std::string source;  // "perf", "amd64_fam19h_zen4"
  std::vector<std::string> attributes;
};
std::vector<Listed> list_events();

// Events that the running kernel describes in files that libpfm does not read: events of its
// devices, such as "cpu/event=0x3c,umask=0x1/u" or "msr/tsc/", and tracepoints, such as
// "sched:sched_switch".

// The folders with the descriptions. The first readable folder of tracepoints is used.
struct KernelFiles {
  std::string devices = "/sys/bus/event_source/devices";
  std::vector<std::string> tracepoints{"/sys/kernel/tracing/events",
                                       "/sys/kernel/debug/tracing/events"};
};

// Whether a name has the form "DEVICE/TERM,TERM=NUMBER/SIDES".
bool is_of_device(std::string_view name);

// The error says what is wrong with the name and what the device has. Refuses a device that counts
// the whole machine, and an event whose number would have to be scaled.
Result<perf_event_attr> find_device_event(std::string_view name, const KernelFiles& files = {});

// Returns nullopt if this user can't see a tracepoint of that name, and an error if the tracepoint
// exists but the side is invalid.
std::optional<Result<perf_event_attr>> find_tracepoint(std::string_view name,
                                                       const KernelFiles& files = {});

// Whether the kernel hides its tracepoints from this user.
bool hides_tracepoints(const KernelFiles& files = {});

// Listed::source of tracepoints.
inline constexpr std::string_view tracepoint_source = "tracepoint";

// List the device events that have names, and the tracepoints.
std::vector<Listed> list_device_events(const KernelFiles& files = {});
std::vector<Listed> list_tracepoints(const KernelFiles& files = {});

}  // namespace stab::counters
