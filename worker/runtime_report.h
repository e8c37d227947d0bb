// SPDX-License-Identifier: MIT
// The conversation between stabd and the runtime that szc links into programs: the variable that a
// trial gets, and the JSON lines that its programs write (doc/runtime.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "counters/readings.h"
#include "plan/plan.h"
#include "protocol/work.h"
#include "store/records.h"

namespace stab::worker {

inline constexpr const char* options_variable = "STABILIZER_OPTIONS";
// The size of the variable's value, which is the same for all options, because a level must not
// change the environment's size.
inline constexpr std::size_t options_size = 256;
inline constexpr std::size_t max_report_bytes = std::size_t{4} << 20;

// Paths without a colon; "": the file is not wanted.
struct RuntimeFiles {
  std::string report{};
  std::string places{};  // the file for the addresses of functions (counters/profiles/profiler.h)
};

// The variable's value: the options and these files. Colons fill it up, because the runtime ignores
// them at the end.
std::string options_text(const plan::Variables& options, const RuntimeFiles& files);

// A region that a program marked by name.
struct NamedRegion {
  std::string name{};
  std::int64_t ns = 0;
  std::int64_t count = 0;

  bool operator==(const NamedRegion&) const = default;
};

struct RuntimeReport {
  store::Layout layout{};
  std::vector<NamedRegion> regions{};  // at most plan::max_regions, with distinct names
  // The value that each option of plans had in a randomized program, without those in which several processes differ.
  plan::Variables did{};

  bool operator==(const RuntimeReport&) const = default;
};

// Reads a report. `own` is the pid of the trial's program. If that process wrote a report, its last
// start counts (an exec keeps the pid), and the reports of its children are left out. Otherwise, as
// under a shell, all processes are taken together: bytes, functions and times are summed, epochs
// are the smallest number, and the result is randomized only if every process was. Reads any bytes;
// `note` mentions lines that the runtime did not write.
RuntimeReport read_report(std::string_view text, int own);

// Why the layout is not the one that the trial needs; "" if it is. `did`: as in RuntimeReport.
// `preloaded`: the program has only the heap of our runtime, from libstabheap.so. `in_place`: why
// the program's file rules out a working runtime (machine/program.h), or "".
std::string layout_fault(const protocol::RunRequest& request, const store::Layout& layout,
                         const plan::Variables& did = {}, bool preloaded = false,
                         std::string_view in_place = "");
// Returns two readings for each region. If `wanted` names a region that the program did not enter,
// its readings are absent with the reason.
std::vector<counters::Reading> region_readings(const RuntimeReport& report,
                                               const std::vector<std::string>& wanted);

// Why the response is missing; "" if it exists or does not come from the report.
std::string response_fault(const protocol::RunRequest& request, const store::Layout& layout);

}  // namespace stab::worker
