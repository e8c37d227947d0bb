// SPDX-License-Identifier: MIT
// Makes readings of how quiet the machine was during a trial, from the kernel's files right before
// the trial's start and right after its end. The trial's own time does not include this.
//
// If a source is missing, has an unknown format or went backwards, its reading is absent, with the
// reason in plain words, and never 0. The files stay open between trials.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/recorded.h"
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

}  // namespace stab::machine
