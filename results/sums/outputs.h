// SPDX-License-Identifier: MIT
// Finds out what trials that are ok printed differently, and by which factor.
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
  // One that was measured and is ok. `cell`: its benchmark and levels of the treatments.
  void add(const store::Trial& trial, const std::string& cell);
  // Of the benchmarks whose trials printed different things, in the order of coming.
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
    std::unordered_set<std::size_t> digests{};  // hashed
    Groups cells{};
    std::map<std::string, Groups> factors{};  // by factor and level
  };

  static bool decides(const Groups& levels);
  [[nodiscard]] report::Outputs outputs_of(const Benchmark& benchmark) const;

  std::vector<std::string> factors_;  // in the plan's order
  bool are_measured_;                 // what is printed
  std::vector<Benchmark> benchmarks_;
};

}  // namespace stab::results
