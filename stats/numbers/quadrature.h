// SPDX-License-Identifier: MIT
// Points and weights of composite Gauss-Legendre quadrature: 20 points in each of equal panels.
#pragma once

#include <cstddef>
#include <vector>

namespace stab::stats {

struct Node {
  double x = 0;
  double weight = 0;
};

// The sum of f(x) * weight over the nodes is the integral. low < high, panels > 0.
std::vector<Node> quadrature(double low, double high, std::size_t panels);

}  // namespace stab::stats
