// SPDX-License-Identifier: MIT
// Makes readings of how quiet the machine was during a trial, from the kernel's files right before
// the trial's start and right after its end. The trial's own time does not include this. Also tells
// whether the machine is quiet enough for trials to begin.
//
// If a source is missing, has an unknown format or went backwards, its reading is absent, with the
// reason in plain words, and never 0. The files stay open between trials.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/readings.h"
#include "machine/topology.h"

namespace stab::machine {

// The numbers in the kernel's text files, or the reason in plain words if the format is unknown.
using Value = std::expected<std::int64_t, std::string>;

// Parses a line that holds only a whole number.
Value number_in(std::string_view text);

// Parses "some avg10=0.00 .. total=N": for how long at least one task has waited, in ns.
Value waited_in(std::string_view pressure);

// From /proc/stat: the time that the host took from these CPUs, and the time that the other CPUs
// were busy, in ns. `ticks` is the kernel's number of ticks per second.
Value stolen_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks);
Value others_busy_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks);

// From /proc/stat: the time for which the trial's CPUs were busy, and the time for which all other
// CPUs were, whose number is `others`. The time that the host took from CPUs that had something to
// run is separate, and not included in the busy time.
struct Busy {
  std::int64_t trial_ns = 0;
  std::int64_t trial_stolen_ns = 0;
  std::int64_t others_ns = 0;
  std::int64_t others_stolen_ns = 0;
  std::size_t others = 0;
};
std::expected<Busy, std::string> busy_in(std::string_view stat, const CpuSet& cpus,
                                         std::int64_t ticks);

// The sum of these CPUs' columns in a table like /proc/interrupts, whose first line names the
// columns.
Value sum_of_columns(std::string_view table, const CpuSet& cpus);

// A row of the table in observer.cc.
struct Source {
  std::string_view reading;  // "steal-ns"
  std::string_view unit;
  std::string_view file;
  std::string_view meaning;
};
std::span<const Source> sources();

class Look;

class Observer {
 public:
  // `trial` are the CPUs of the trials. `root` is a prefix for /proc and /sys, for tests.
  explicit Observer(const CpuSet& trial, const std::string& root = "");
  Observer(Observer&&) noexcept;
  Observer& operator=(Observer&&) noexcept;
  ~Observer();

  void before();
  // Adds a reading for each source, in the order of sources(). All are absent unless before() was
  // called.
  void after(std::vector<counters::Reading>& readings);

 private:
  std::unique_ptr<Look> look_;
};

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

// Tells whether a machine on which none of our programs run is quiet enough for trials to begin. A
// source that is missing or has an unknown format is ignored, and missing() names it.
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
