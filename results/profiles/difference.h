// SPDX-License-Identifier: MIT
// Finds the functions that take longer in one cell of the plan than in another. The units are
// blocks, never samples: each cell's mean in a block is one number, and the test is on their
// differences.
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
  std::optional<double> first{};  // mean per trial; absent if no trial of the cell has the function
  std::optional<double> second{};
  double difference = 0;  // second - first; a cell without the function counts as 0
  std::optional<stats::Interval> interval{};
  std::optional<double> p{};
  std::optional<double> p_adjusted{};  // corrected for all functions together
};

// Sums up the profiles of two cells.
class CellDifference {
 public:
  // `is_first`: whether the trial belongs to the first cell. The trial must have a profile.
  void add(const store::Trial& trial, bool is_first);

  // The number of blocks in which both cells have a profile; only these blocks count.
  [[nodiscard]] std::size_t blocks() const;
  // The functions, largest difference first. With fewer than two blocks there are no tests.
  [[nodiscard]] std::vector<FunctionChange> functions(double alpha) const;
  // The change in the sum over all functions.
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

// Answers a request as text or JSON. If a cell has no successful trial, the error lists the cells
// that do.
Result<std::string> difference_of_cells(store::Reader& store, const store::Experiment& experiment,
                                        const plan::Plan& plan,
                                        const protocol::ProfileRequest& request);

}  // namespace stab::results
