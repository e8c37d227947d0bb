// SPDX-License-Identifier: MIT
// Collects what is wrong with a plan, so that the user sees all of it at once.
#pragma once

#include <string>
#include <vector>

#include "plan/document.h"
#include "plan/reader.h"

namespace stab::plan {

class Problems {
 public:
  void add(Position at, std::string message);
  [[nodiscard]] bool empty() const { return problems_.empty(); }
  [[nodiscard]] std::size_t count() const { return problems_.size(); }
  // So many that hints, which are slow to find, no longer help.
  [[nodiscard]] bool is_crowded() const { return problems_.size() >= 2 * max_problems; }

  // In the order of their places, at most max_problems; then one more that counts the others.
  std::vector<Problem> take() &&;

 private:
  std::vector<Problem> problems_;
};

}  // namespace stab::plan
