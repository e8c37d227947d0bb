// SPDX-License-Identifier: MIT
// Finds out from plain trials (design/trial_list.h) what random layouts cost: the change from the
// program as its users run it to the same program with random layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "report/model.h"
#include "store/records.h"

namespace stab::results {

class CostSums {
 public:
  // Keeps a reference to the plan.
  explicit CostSums(const plan::Plan& plan);

  // Call it for all measured trials that are ok and count, in the order of their positions. It uses
  // plain trials, and in the same blocks the trials of the cell that they repeat.
  void add(const store::Trial& trial);

  // Nothing if the plan has no plain trials, or if the trials that they repeat had nothing random.
  [[nodiscard]] std::optional<report::Cost> result() const;

  // A plain trial and the trial that it repeats.
  struct Pair {
    std::uint32_t block = 0;
    std::size_t benchmark = 0;  // its place in the plan
    // The response of the two trials.
    std::optional<double> plain{};
    std::optional<double> random{};
    // The parts of the second trial's layout that were random.
    bool functions = false;
    bool stack_frames = false;
    bool heap_blocks = false;
  };

 private:
  [[nodiscard]] std::vector<Pair> complete() const;

  const plan::Plan& plan_;
  std::string response_;
  std::map<std::string, std::string> first_cell_;  // treatment -> level
  std::vector<Pair> pairs_;                        // complete ones of earlier blocks, in order
  std::vector<Pair> open_;                         // of the last block
};

}  // namespace stab::results
