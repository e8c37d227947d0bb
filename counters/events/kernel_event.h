// SPDX-License-Identifier: MIT
// Events that the running kernel itself describes in files, which libpfm does not read: those of
// its devices, as "cpu/event=0x3c,umask=0x1/u" or "msr/tsc/", and tracepoints, as
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

// Where the kernel describes them. Of several folders of tracepoints the first that can be read holds.
struct KernelFiles {
  std::string devices = "/sys/bus/event_source/devices";
  std::vector<std::string> tracepoints{"/sys/kernel/tracing/events",
                                       "/sys/kernel/debug/tracing/events"};
};

// "DEVICE/TERM,TERM=NUMBER/SIDES": whether a name has that form.
bool is_of_device(std::string_view name);

// An error says what is wrong with the name and what the device has. A device that counts the whole
// machine, and a number that would have to be scaled, are refused.
Result<perf_event_attr> find_device_event(std::string_view name, const KernelFiles& files = {});

// Nothing: no tracepoint that this user can see has that name. An error: it is one, with a side that
// is none.
std::optional<Result<perf_event_attr>> find_tracepoint(std::string_view name,
                                                       const KernelFiles& files = {});

// Whether this user may not see which tracepoints there are.
bool hides_tracepoints(const KernelFiles& files = {});

inline constexpr std::string_view tracepoint_source = "tracepoint";  // of Listed

// Those that have names: events of devices, and tracepoints.
std::vector<Listed> list_device_events(const KernelFiles& files = {});
std::vector<Listed> list_tracepoints(const KernelFiles& files = {});

}  // namespace stab::counters
