// SPDX-License-Identifier: MIT
// Tells whether a machine on which none of our programs run is quiet enough for trials to begin.
//
// A source that is missing or has an unknown format is ignored, and missing() names it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/observer.h"
#include "machine/topology.h"

namespace stab::machine {

// CPU time is counted in ticks of 10 ms, so a shorter look would be too coarse.
inline constexpr std::chrono::milliseconds shortest_look{400};

struct CalmBounds {
  // The largest share of time for which the trial's CPUs together or the other CPUs together may be
  // busy, or some task may wait for memory. Time that the host of a virtual machine takes counts as
  // load.
  double load = 0;
  std::optional<double> temperature_c{};  // upper bound
  std::optional<double> frequency_khz{};  // lower bound for each of the trial's CPUs
};

class Calm {
 public:
  // `trial` are the CPUs of the trials. `root` is a prefix for /proc and /sys, for tests.
  Calm(CpuSet trial, const CalmBounds& bounds, const std::string& root = "");

  void begin();
  // Describes the bounds that were exceeded since begin(), `passed` ago; "" if the machine was
  // quiet. A time shorter than shortest_look counts as not quiet.
  std::string end(std::chrono::nanoseconds passed);
  // After end(): the bounded quantities that are unknown on this machine, with the reasons.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  [[nodiscard]] std::expected<Busy, std::string> busy() const;
  // The reading of this name. If it is absent, returns nullopt and adds it to missing_.
  std::optional<double> number(const std::vector<counters::Reading>& readings,
                               std::string_view name);

  CpuSet trial_;
  CalmBounds bounds_;
  std::string root_;
  Observer observer_;
  std::expected<Busy, std::string> before_;
  std::vector<std::string> missing_;
};

}  // namespace stab::machine
