// SPDX-License-Identifier: MIT
// Sums up what else ran while trials did.
#pragma once

#include "report/model.h"
#include "store/records.h"

namespace stab::results {

class LoadCounter {
 public:
  // One that was measured and is ok.
  void add(const store::Trial& trial);
  [[nodiscard]] report::Load result() const;

 private:
  // A source that some trials lack counts in the others.
  struct Share {
    double part_ns = 0;
    double wall_ns = 0;
  };
  report::Load load_;
  Share others_;
  Share stolen_;
};

}  // namespace stab::results
