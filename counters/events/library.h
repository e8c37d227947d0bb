// SPDX-License-Identifier: MIT
// libpfm, which knows the names of the CPUs' events. It is loaded when the first name is looked up: its tables have
// 300 pages of addresses, which a program that is linked with it relocates at each start and copies at each fork.
#pragma once

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include "base/error.h"

namespace stab::counters {

struct Library {
  decltype(&pfm_initialize) initialize;
  decltype(&pfm_strerror) strerror;
  decltype(&pfm_get_pmu_info) get_pmu_info;
  decltype(&pfm_get_event_info) get_event_info;
  decltype(&pfm_get_event_next) get_event_next;
  decltype(&pfm_get_event_attr_info) get_event_attr_info;
  decltype(&pfm_get_os_event_encoding) get_os_event_encoding;
};

// Its state is the process's. An error if it is not installed, or does not know this machine.
const Result<Library>& libpfm();

}  // namespace stab::counters
