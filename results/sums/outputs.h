// SPDX-License-Identifier: MIT
// Finds out which benchmarks printed different output in successful trials, and which factors
// decide what they print.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "plan/plan.h"
#include "report/model.h"
#include "store/records.h"

namespace stab::results {

class OutputCounter {
 public:
  explicit OutputCounter(const plan::Plan& plan);
  // The trial must be measured and ok. `cell`: its benchmark and the levels of the treatments.
  void add(const store::Trial& trial, const std::string& cell);
  // The benchmarks whose trials printed different output, in the order of their first trials.
  [[nodiscard]] std::vector<report::Outputs> result() const;

 private:
  // Trials that have something in common.
  struct Group {
    void add(const std::string& digest);
    std::string first{};
    std::uint64_t trials = 0;
    bool differs = false;
  };
  using Groups = std::map<std::string, Group>;
  struct Benchmark {
    std::string name{};
    Group all{};
    std::unordered_set<std::size_t> digests{};  // as hashes
    Groups cells{};
    std::map<std::string, Groups> factors{};  // by factor and level
  };

  static bool decides(const Groups& levels);
  [[nodiscard]] report::Outputs outputs_of(const Benchmark& benchmark) const;

  std::vector<std::string> factors_;  // in the plan's order
  bool are_measured_;                 // whether the program's output holds measurements
  std::vector<Benchmark> benchmarks_;
};

}  // namespace stab::results
