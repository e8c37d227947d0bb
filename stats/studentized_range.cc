// SPDX-License-Identifier: MIT
#include "stats/studentized_range.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/quadrature.h"
#include "stats/root.h"
#include "stats/tails.h"

namespace stab::stats {
namespace {

// P(range of `groups` standard normal numbers > w), integrated over the largest of them.
class NormalRange {
 public:
  explicit NormalRange(std::size_t groups) : others_(static_cast<double>(groups) - 1) {
    for (const Node& node : quadrature(-9, 15, 12)) {
      const double below = normal_cdf(node.x);
      const double weight = (others_ + 1) * node.weight * normal_density(node.x);
      points_.push_back({.z = node.x, .below = below, .weight = weight * std::pow(below, others_)});
    }
  }

  [[nodiscard]] double tail(double w) const {
    double sum = 0;
    for (const Point& point : points_) {
      const double farther = std::min(1.0, normal_cdf(point.z - w) / point.below);
      sum -= point.weight * std::expm1(others_ * std::log1p(-farther));
    }
    return std::min(1.0, sum);
  }

 private:
  struct Point {
    double z;
    double below;   // P(Z < z)
    double weight;  // density of the largest at z
  };
  double others_;
  std::vector<Point> points_;
};

// The logarithm of the estimated standard deviation; weights sum to 1.
std::vector<Node> log_deviation(double df) {
  const double low = -40 / df - 9 / std::sqrt(2 * df);
  const double high = std::log1p(90 / df + 13 / std::sqrt(df)) / 2;
  const double panels = std::clamp(std::ceil(high - low), 8.0, 200.0);
  std::vector<Node> nodes = quadrature(low, high, static_cast<std::size_t>(panels));
  double sum = 0;
  for (Node& node : nodes) {
    node.weight *= std::exp(df * (node.x - std::expm1(2 * node.x) / 2));
    sum += node.weight;
  }
  for (Node& node : nodes) node.weight /= sum;
  return nodes;
}

class StudentizedRange {
 public:
  StudentizedRange(std::size_t groups, double df) : range_(groups), deviation_(log_deviation(df)) {}

  [[nodiscard]] double tail(double q) const {
    double sum = 0;
    for (const Node& node : deviation_)
      if (node.weight > 1e-40) sum += node.weight * range_.tail(q * std::exp(node.x));
    return std::min(1.0, sum);
  }

 private:
  NormalRange range_;
  std::vector<Node> deviation_;
};

bool is_defined(std::size_t groups, double df) {
  return groups >= 2 && groups <= 10'000 && std::isfinite(df) && df >= 0.5;
}

}  // namespace

std::optional<double> studentized_range_tail(double q, std::size_t groups, double df) {
  if (!is_defined(groups, df) || !(q >= 0) || !std::isfinite(q)) return std::nullopt;
  return StudentizedRange(groups, df).tail(q);
}

std::optional<double> studentized_range_quantile(double tail, std::size_t groups, double df) {
  if (!is_defined(groups, df) || !(tail > 0 && tail < 1)) return std::nullopt;
  const StudentizedRange range(groups, df);
  // In log q, where the function is smooth for every df.
  const auto excess = [&](double log_q) -> std::optional<double> {
    return range.tail(std::exp(log_q)) - tail;
  };
  const auto log_q = find_root(excess, std::log(1e-8), std::log(1e12));
  if (!log_q) return std::nullopt;
  return std::exp(*log_q);
}

}  // namespace stab::stats
