// SPDX-License-Identifier: MIT
// Puts a trial's program under the simulator or the causal profiler, or gives it our heap, and
// makes the files in memory that such trials write to.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "causal/lines/line_map.h"
#include "causal/run/prepare_program.h"
#include "causal/run/session_file.h"
#include "counters/readings.h"
#include "machine/measured_run.h"
#include "protocol/work.h"

namespace stab::worker {

// A file in memory whose path the trial's processes can open. The path is valid as long as this
// object exists and this process runs.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name);
  // The same file for each trial, emptied each time; its path stays the same.
  static MemoryFile& reused(const char* name);
  [[nodiscard]] bool is_open() const { return static_cast<bool>(fd_); }
  // The path that other processes can open (base/shown_files.h).
  [[nodiscard]] std::string path() const;
  bool write(std::string_view text);
  bool empty();
  // Reads from the start, at most `limit` bytes.
  [[nodiscard]] std::string read(std::size_t limit) const;

 private:
  Fd fd_;
};

// The libraries that LD_PRELOAD brings into trials: libstabheap.so, the heap of programs that szc
// did not build, and libstabnew.so, which makes operator new of some allocators use that heap.

// The installed path of each; "" if it is not installed or LD_PRELOAD can't name it.
std::string heap_library();
std::string new_library();

// Whether the text, such as a path or the value of LD_PRELOAD, names jemalloc, tcmalloc or
// mimalloc, which have their own operator new.
bool names_allocator_with_new(std::string_view text);
// Whether the file is an ELF program or library that names one of them.
bool uses_allocator_with_new(const std::string& file);

// The library's path if this trial needs it: if the plan sets the heap in any arm, and the program
// is an ELF file without our runtime. A shell does not need it, because it only starts the program.
// Returns "" otherwise, or if the library is not installed.
std::string heap_library_for(const protocol::RunRequest& request);

// The path of libstabnew.so if the plan sets the heap, and if the program (szc's or not) or the
// trial's LD_PRELOAD names an allocator with its own operator new.
std::string new_library_for(const protocol::RunRequest& request);

// A trial whose program runs under a simulator (machine/simulator.h).
class Simulation {
 public:
  explicit Simulation(std::string simulator);

  // Makes the launch run the program under the simulator. If the program does not exist, the launch
  // stays as it is and fails as it would without a simulator.
  void wrap(machine::Launch& launch) const;
  [[nodiscard]] std::vector<counters::Reading> readings(const machine::Ended& ended) const;

 private:
  std::string simulator_;
  MemoryFile& counts_;
  MemoryFile& log_;
};

// S1: Removes the readings of a clock or the kernel, because they are about the simulator and must
// not be stored.
void forget_real_runs(protocol::RunReply& reply);

// A trial whose program runs under the causal profiler (causal/run).
class CausalRun {
 public:
  // Finds the source lines of the launch's program, which `programs` may know already. Returns
  // nullopt if no causal profile is wanted; an error says what to change in the plan or the
  // program.
  static Result<std::optional<CausalRun>> prepare(
      const std::optional<protocol::CausalRequest>& wanted, causal::Programs* programs,
      const machine::Launch& launch);

  // Adds the profiler's library to the launch's environment.
  void wrap(machine::Launch& launch) const;
  // Adds the profile to the reply, however the program ended. Returns why an analysis can't use it;
  // "" if it can.
  std::string take(const machine::Ended& ended, protocol::RunReply& reply) const;

 private:
  CausalRun(const protocol::CausalRequest& request, std::string library,
            std::shared_ptr<const causal::LineMap> map, causal::SessionFile session);

  std::string library_;
  std::shared_ptr<const causal::LineMap> map_;
  causal::SessionFile session_;
  bool is_end_to_end_ = false;
  bool has_faster_arrivals_ = false;
};

}  // namespace stab::worker
