// SPDX-License-Identifier: MIT
// Simulated samples: the same on every machine.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/random.h"

namespace stab::stats::oracle {

// Box and Muller, 1958.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : random_(seed) {}

  // On (0, 1).
  double uniform() { return (static_cast<double>(random_.next() >> 12) + 0.5) * 0x1p-52; }

  double next() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  std::vector<double> sample(std::size_t n, double mean = 0, double sd = 1) {
    std::vector<double> values(n);
    for (double& x : values) x = mean + sd * next();
    return values;
  }

 private:
  Random random_;
};

}  // namespace stab::stats::oracle
