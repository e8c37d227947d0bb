// SPDX-License-Identifier: MIT
// Whether a machine on which nothing of ours runs is quiet enough for trials to begin.
//
// A source that is missing or of an unknown form bounds nothing and is named by missing().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/quality/kernel_text.h"
#include "machine/quality/observer.h"
#include "machine/topology.h"

namespace stab::machine {

// CPU time comes in ticks of 10 ms.
inline constexpr std::chrono::milliseconds shortest_look{400};

struct CalmBounds {
  // At most this share of the time of the trial's CPUs together, of the other CPUs together, and of
  // tasks that wait for memory. What the host of a virtual machine takes is load, too.
  double load = 0;
  std::optional<double> temperature_c{};  // at most
  std::optional<double> frequency_khz{};  // at least, of each of the trial's CPUs
};

class Calm {
 public:
  // For trials on these CPUs. `root` stands before /proc and /sys, for tests.
  Calm(CpuSet trial, const CalmBounds& bounds, const std::string& root = "");

  void begin();
  // What was too much since then, in words; "" if nothing was. `passed`: how long ago that is. A look
  // shorter than shortest_look is too much, too.
  std::string end(std::chrono::nanoseconds passed);
  // After end(): what is bounded and cannot be known here, with the reason.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  [[nodiscard]] std::expected<Busy, std::string> busy() const;
  // The reading of this name, or nothing and a new line of missing_.
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
