// SPDX-License-Identifier: MIT
// Events that the running kernel describes in files that libpfm does not read: events of its
// devices, such as "cpu/event=0x3c,umask=0x1/u" or "msr/tsc/", and tracepoints, such as
// "sched:sched_switch".
#pragma once

#include <linux/perf_event.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "counters/events/event.h"

namespace stab::counters {

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
