// SPDX-License-Identifier: MIT
// Runs all arms of all programs in rounds: in a round each arm of a program runs once, the arms of
// a program right after each other in a random order, all in an environment of one size, drawn anew
// for each round. What is compared is near in time and equal in everything else.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "bench/paired/program.h"
#include "machine/topology.h"

namespace stab::bench {

struct Times {
  double cpu = 0;   // seconds; user and system time, which the kernel knows to the nanosecond
  double user = 0;  // seconds; where the kernel counts ticks this part of the above is an estimate
  double wall = 0;
};

struct Execution {
  std::size_t program = 0;
  std::size_t round = 0;
  std::size_t arm = 0;
  std::size_t variant = 0;
  std::uint64_t seed = 0;
  Times times{};
  std::string problem{};  // "": it ended well and its output is the reference
};

struct Plan {
  std::size_t rounds = 20;
  std::uint64_t seed = 1;
  std::optional<unsigned> cpu{};  // runs are bound to it
  double timeout = 600;           // seconds, of a run
};

// Before the first round the first variant of each arm runs once, uncounted; that tells the
// reference output and wrong ones at once. Problems are values, told to `on_run` as they occur.
class Rounds {
 public:
  Rounds(const std::vector<Program>& programs, const Plan& plan, const machine::Topology& topology);

  std::vector<Execution> run(const std::function<void(const Execution&)>& on_run);

 private:
  void warm_up(std::size_t program, const std::function<void(const Execution&)>& on_run);
  Execution run_one(std::size_t program, std::size_t round, std::size_t arm, std::size_t variant);

  const std::vector<Program>& programs_;
  Plan plan_;
  const machine::Topology& topology_;
  std::vector<std::optional<std::string>> references_;  // digests, by program
};

}  // namespace stab::bench
