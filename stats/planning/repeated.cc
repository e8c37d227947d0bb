// SPDX-License-Identifier: MIT
#include "stats/planning/repeated.h"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>

#include "stats/numbers/distribution.h"
#include "stats/numbers/root.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

// Points and weights of composite Gauss-Legendre quadrature: 20 points in each of equal panels.

struct Node {
  double x = 0;
  double weight = 0;
};

// The sum of f(x) * weight over the nodes is the integral. low < high, panels > 0.
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

constexpr double least_spent = 1e-12;

// The statistic z sqrt(fraction), a Brownian motion, among the experiments that were not stopped.
struct Density {
  double fraction = 0;
  double limit = 0;            // |x| is below this
  std::vector<Node> points{};  // weights include the density
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
      return fail(
          "a sequential test needs increasing fractions of the data, each above 0 and at most 1");
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

namespace {

// Levels are searched as normal quantiles of alpha / 2, because boundaries depend on these nearly
// linearly.
constexpr double nearest = 0.01;
constexpr double farthest = 7.5;
constexpr double no_boundary = 40;  // larger than the quantile of any p

double alpha_of(double quantile) {
  return 2 * normal_tail(quantile);
}

}  // namespace

Result<Repeated> Repeated::at(const Looks& looks) {
  if (looks.planned.empty() || looks.blocks < 2)
    return fail("a sequential analysis needs at least one look and two blocks of data");
  const double most = static_cast<double>(std::max(looks.planned.back(), looks.blocks));
  std::vector<double> fractions;
  for (const std::size_t blocks : looks.planned)
    if (blocks < looks.blocks) fractions.push_back(static_cast<double>(blocks) / most);
  fractions.push_back(static_cast<double>(looks.blocks) / most);
  if (const auto usable = spend_alpha(fractions, 0.05); !usable)
    return std::unexpected(usable.error());
  return Repeated(std::move(fractions));
}

double Repeated::level(double alpha) const {
  const auto looks = spend_alpha(fractions_, alpha);
  return looks ? looks->back().nominal : 0;
}

double Repeated::p(double p) const {
  if (fractions_.size() == 1 && fractions_.front() == 1) return p;
  const double observed = p < 1 ? -normal_quantile(p / 2).value_or(-no_boundary) : 0;
  const auto excess = [&](double quantile) -> std::optional<double> {
    const auto looks = spend_alpha(fractions_, alpha_of(quantile));
    return (looks ? looks->back().z.value_or(no_boundary) : no_boundary) - observed;
  };
  if (*excess(nearest) > 0) return 1;
  if (*excess(farthest) < 0) return alpha_of(farthest);
  const auto quantile = find_root(excess, nearest, farthest);
  return quantile ? std::max(p, alpha_of(*quantile)) : 1;
}

double Repeated::one_sided_p(double p) const {
  return p < 0.5 ? this->p(2 * p) / 2 : p;
}

}  // namespace stab::stats
