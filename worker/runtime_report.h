// SPDX-License-Identifier: MIT
// What stabd and the runtime that szc links into programs say to each other: the variable that a
// trial gets, and the JSON lines that its programs write (doc/runtime.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "counters/reading.h"
#include "plan/plan.h"
#include "protocol/work.h"
#include "store/records.h"

namespace stab::worker {

inline constexpr const char* options_variable = "STABILIZER_OPTIONS";
// Bytes of its value, whatever the options are: a level must not change the environment's size.
inline constexpr std::size_t options_size = 256;
inline constexpr std::size_t max_report_bytes = std::size_t{4} << 20;

// Paths without a colon; "": it is not wanted.
struct RuntimeFiles {
  std::string report{};
  std::string places{};  // where it writes where functions are (counters/profiles/profiler.h)
};

// The value: the options and these, filled up with colons, which mean nothing at the end.
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
  std::vector<NamedRegion> regions{};  // at most plan::max_regions, no name twice
  // The value that each option of plans had in a randomized program, without those in which several processes differ.
  plan::Variables did{};

  bool operator==(const RuntimeReport&) const = default;
};

// Of a report's text. `own` is the pid of the trial's program; if it wrote (an exec keeps the pid:
// the last start counts), the lines of its children are left out. If it did not, as a shell, the
// processes that wrote are taken together: bytes, functions and times are sums, epochs the least,
// and it counts as randomized if all of them were. Any bytes are a report: what is no line of the
// runtime's is said in `note`.
RuntimeReport read_report(std::string_view text, int own);

// Why the layout is not what the trial needs; "" if it is. `did`: as in RuntimeReport. `preloaded`: the program has
// only the heap of our runtime, from libstabheap.so. `in_place`: why the program's file rules out a runtime that works
// (machine/program.h), or "".
std::string layout_fault(const protocol::RunRequest& request, const store::Layout& layout,
                         const plan::Variables& did = {}, bool preloaded = false,
                         std::string_view in_place = "");
// Two readings of each region. Of those that `wanted` names and the program did not enter they are
// absent, with the reason.
std::vector<counters::Reading> region_readings(const RuntimeReport& report,
                                               const std::vector<std::string>& wanted);

// Why the response is missing; "" if it is there or does not come from the report.
std::string response_fault(const protocol::RunRequest& request, const store::Layout& layout);

}  // namespace stab::worker
