// SPDX-License-Identifier: MIT
// Makes readings of how quiet the machine was during a trial, from the kernel's files right before
// the trial's start and right after its end. The trial's own time does not include this.
//
// If a source is missing, has an unknown format or went backwards, its reading is absent, with the
// reason in plain words, and never 0. The files stay open between trials.
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
