// SPDX-License-Identifier: MIT
// A trial whose program runs under a simulator (machine/simulator.h).
#pragma once

#include <string>
#include <vector>

#include "counters/reading.h"
#include "machine/child.h"
#include "protocol/work.h"
#include "worker/memory_file.h"

namespace stab::worker {

class Simulation {
 public:
  explicit Simulation(std::string simulator);

  // Has the simulator run the program. A launch whose program is not there stays as it is, and fails
  // as it would without.
  void wrap(machine::Launch& launch) const;
  [[nodiscard]] std::vector<counters::Reading> readings(const machine::Ended& ended) const;

 private:
  std::string simulator_;
  MemoryFile& counts_;
  MemoryFile& log_;
};

// S1: what a clock or the kernel measured of a simulated trial is the simulator's, and in no row.
void forget_real_runs(protocol::RunReply& reply);

}  // namespace stab::worker
