// SPDX-License-Identifier: MIT
// Which functions take longer in one cell of the plan than in another. Blocks are the units, never
// samples: each cell's mean in a block is one number, and the differences of these are tested.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "protocol/run.h"
#include "stats/numbers/summary.h"
#include "store/reader.h"

namespace stab::results {

struct FunctionChange {
  std::string function{};
  std::string object{};
  std::optional<double> first{};  // mean per trial; nothing: no trial of the cell has it
  std::optional<double> second{};
  double difference = 0;  // second - first, where a cell that lacks it has 0
  std::optional<stats::Interval> interval{};
  std::optional<double> p{};
  std::optional<double> p_adjusted{};  // for all functions together
};

// Sums up the profiles of two cells.
class CellDifference {
 public:
  // `is_first`: of the first cell. The trial has a profile.
  void add(const store::Trial& trial, bool is_first);

  // Blocks in which both cells have a profile; only these count.
  [[nodiscard]] std::size_t blocks() const;
  // Those that differ most first; with less than two blocks there are no tests.
  [[nodiscard]] std::vector<FunctionChange> functions(double alpha) const;
  // All functions together.
  [[nodiscard]] FunctionChange all(double alpha) const;

 private:
  using Function = std::pair<std::string, std::string>;  // name, object
  struct Trials {
    std::size_t count = 0;
    std::map<Function, double> sums;
  };
  struct Block {
    Trials first;
    Trials second;
  };
  [[nodiscard]] std::vector<const Block*> complete() const;
  [[nodiscard]] FunctionChange change_of(const std::vector<const Block*>& blocks,
                                         const Function& function, double alpha) const;

  std::map<std::uint32_t, Block> blocks_;
};

// As text or JSON. An error names the cells that there are.
Result<std::string> difference_of_cells(store::Reader& store, const store::Experiment& experiment,
                                        const plan::Plan& plan,
                                        const protocol::ProfileRequest& request);

}  // namespace stab::results
