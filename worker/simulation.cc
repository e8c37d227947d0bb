// SPDX-License-Identifier: MIT
#include "worker/simulation.h"

#include <utility>

#include "machine/program.h"
#include "machine/simulator.h"
#include "plan/measures/names.h"

namespace stab::worker {

Simulation::Simulation(std::string simulator)
    : simulator_(std::move(simulator)),
      counts_(MemoryFile::reused("counts")),
      log_(MemoryFile::reused("log")) {}

void Simulation::wrap(machine::Launch& launch) const {
  if (!machine::find_program(launch.argv.front(), launch.environment, launch.directory)) return;
  launch.argv = machine::simulated(simulator_, counts_.path(), log_.path(), launch.argv);
}

std::vector<counters::Reading> Simulation::readings(const machine::Ended& ended) const {
  auto readings = machine::simulated_readings(counts_.read(machine::max_counts_bytes),
                                              log_.read(machine::max_simulator_log), ended.pid);
  // Processes that we ended have not written their counts and log.
  if (ended.leftovers > 0)
    for (counters::Reading& each : readings)
      each = counters::absent(
          each.name, each.unit,
          "some processes outlived the program that started them and were not counted");
  return readings;
}

void forget_real_runs(protocol::RunReply& reply) {
  reply.wall_ns.reset();
  reply.user_ns.reset();
  reply.system_ns.reset();
  reply.max_rss_bytes.reset();
  for (auto* time : {&reply.layout.main_to_exit_ns, &reply.layout.region_ns, &reply.layout.setup_ns,
                     &reply.layout.epochs_ns, &reply.layout.longest_pause_ns})
    time->reset();
  std::erase_if(reply.readings, [](const counters::Reading& each) {
    return plan::is_of_real_runs(each.name) || each.unit == "ns";
  });
}

}  // namespace stab::worker
