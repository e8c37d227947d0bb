// SPDX-License-Identifier: MIT
// Sums up what else ran on the machine during trials.
#pragma once

#include "report/model.h"
#include "store/records.h"

namespace stab::results {

class LoadCounter {
 public:
  // The trial must be measured and ok.
  void add(const store::Trial& trial);
  [[nodiscard]] report::Load result() const;

 private:
  // The sums over the trials that have the reading; other trials do not count.
  struct Share {
    double part_ns = 0;
    double wall_ns = 0;
  };
  report::Load load_;
  Share others_;
  Share stolen_;
};

}  // namespace stab::results
