// SPDX-License-Identifier: MIT
#include "stats/planning/alpha_spending.h"

#include <algorithm>
#include <cmath>

#include "stats/numbers/quadrature.h"
#include "stats/numbers/root.h"
#include "stats/numbers/tails.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

constexpr double least_spent = 1e-12;

// The statistic z sqrt(fraction), a Brownian motion, among the experiments that were not stopped.
struct Density {
  double fraction = 0;
  double limit = 0;            // |x| is below this
  std::vector<Node> points{};  // weights contain the density
};

// The panels are so fine that the density, which is smooth on the scale of the last step, and the
// kernel of the next step are integrated to rounding.
std::vector<Node> points(double limit, double last_step, double next_step) {
  const double width = 3 * std::sqrt(std::min(last_step, next_step));
  return quadrature(-limit, limit, static_cast<std::size_t>(std::ceil(2 * limit / width)));
}

double crossing(const Density& density, double fraction, double z) {
  const double limit = z * std::sqrt(fraction);
  const double sd = std::sqrt(fraction - density.fraction);
  double sum = 0;
  for (const Node& node : density.points) sum += node.weight * normal_tail((limit - node.x) / sd);
  return 2 * sum;  // the density is symmetric
}

Density first(double fraction, double z, double next_step) {
  const double sd = std::sqrt(fraction);
  Density result{.fraction = fraction, .limit = z * sd};
  result.points = points(result.limit, fraction, next_step);
  for (Node& node : result.points) node.weight *= normal_density(node.x / sd) / sd;
  return result;
}

Density next(const Density& before, double fraction, double z, double next_step) {
  const double sd = std::sqrt(fraction - before.fraction);
  Density result{.fraction = fraction, .limit = z * std::sqrt(fraction)};
  result.points = points(result.limit, fraction - before.fraction, next_step);
  for (Node& node : result.points) {
    double sum = 0;
    for (const Node& from : before.points)
      sum += from.weight * normal_density((node.x - from.x) / sd);
    node.weight *= sum / sd;
  }
  return result;
}

Result<void> require_fractions(std::span<const double> fractions) {
  if (fractions.empty() || fractions.size() > 1000)
    return fail("a sequential test needs 1 to 1000 looks");
  double last = 0;
  for (const double fraction : fractions) {
    if (!(fraction > last && fraction <= 1))
      return fail("the looks of a sequential test must be in order, within 0 to 1");
    last = fraction;
  }
  return {};
}

}  // namespace

Result<std::vector<Look>> spend_alpha(std::span<const double> fractions, double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (const auto usable = require_fractions(fractions); !usable)
    return std::unexpected(usable.error());
  const double upper = -normal_quantile(alpha / 4).value_or(0);
  std::vector<Look> looks;
  std::optional<Density> density;
  double spent = 0;
  for (std::size_t k = 0; k < fractions.size(); ++k) {
    const double fraction = fractions[k];
    const double next_step = k + 1 < fractions.size() ? fractions[k + 1] - fraction : 1;
    const double target = 4 * normal_tail(upper / std::sqrt(fraction));
    looks.push_back({.fraction = fraction, .spent = spent});
    if (target - spent < least_spent) continue;
    const auto excess = [&](double z) -> std::optional<double> {
      return (density ? crossing(*density, fraction, z) : 2 * normal_tail(z)) - (target - spent);
    };
    const auto z = find_root(excess, 0, 40);
    if (!z) return fail("the boundaries of the sequential test are beyond what can be computed");
    looks.back().z = *z;
    looks.back().nominal = 2 * normal_tail(*z);
    looks.back().spent = spent = target;
    density = density ? next(*density, fraction, *z, next_step) : first(fraction, *z, next_step);
  }
  return looks;
}

}  // namespace stab::stats
