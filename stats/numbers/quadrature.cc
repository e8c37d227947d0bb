// SPDX-License-Identifier: MIT
#include "stats/numbers/quadrature.h"

#include <boost/math/quadrature/gauss.hpp>

namespace stab::stats {

std::vector<Node> quadrature(double low, double high, std::size_t panels) {
  using Rule = boost::math::quadrature::gauss<double, 20>;
  std::vector<Node> nodes;
  nodes.reserve(20 * panels);
  const double half = (high - low) / static_cast<double>(panels) / 2;
  for (std::size_t panel = 0; panel < panels; ++panel) {
    const double middle = low + half * (2 * static_cast<double>(panel) + 1);
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
      const double step = half * Rule::abscissa()[i];
      const double weight = half * Rule::weights()[i];
      nodes.push_back({.x = middle - step, .weight = weight});
      nodes.push_back({.x = middle + step, .weight = weight});
    }
  }
  return nodes;
}

}  // namespace stab::stats
