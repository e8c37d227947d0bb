// SPDX-License-Identifier: MIT
// A trial whose program runs under a simulator (machine/simulator.h).
#pragma once

#include <string>
#include <vector>

#include "counters/recorded.h"
#include "machine/child.h"
#include "protocol/work.h"
#include "worker/memory_file.h"

namespace stab::worker {

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

}  // namespace stab::worker
