// SPDX-License-Identifier: MIT
// How quiet the machine was around a trial, as readings: from what the kernel shows right before
// the trial's start and right after its end, outside of its time.
//
// A source that is missing is absent, with the reason in plain words; so is one whose form is not
// known or that went backwards. Never 0. Files stay open between trials.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/reading.h"
#include "machine/topology.h"

namespace stab::machine {

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
  // For trials on these CPUs. `root` stands before /proc and /sys, for tests.
  explicit Observer(const CpuSet& trial, const std::string& root = "");
  Observer(Observer&&) noexcept;
  Observer& operator=(Observer&&) noexcept;
  ~Observer();

  void before();
  // Adds a reading for each source, in their order: all absent unless before() was called.
  void after(std::vector<counters::Reading>& readings);

 private:
  std::unique_ptr<Look> look_;
};

}  // namespace stab::machine
