// SPDX-License-Identifier: MIT
#include "stats/causal/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "stats/numbers/distribution.h"
#include "stats/numbers/triangle.h"

namespace stab::stats::causal {
namespace {

constexpr std::size_t hats = 4;
constexpr double dependent = 1e-9;

// The coordinates of a broken line that starts at 0 and has corners at 25, 50, 75 and 100 %.
std::array<double, hats> hats_of(double x) {
  std::array<double, hats> made{};
  for (std::size_t j = 0; j < hats; ++j) {
    const double corner = 0.25 * static_cast<double>(j + 1);
    made.at(j) = std::max(0.0, 1 - std::fabs(x - corner) / 0.25);
  }
  return made;
}

double uniform(Random& random) {
  return (static_cast<double>(random.next() >> 11) + 0.5) / static_cast<double>(1ULL << 53);
}

double normal(Random& random) {  // Box and Muller, 1958
  return std::sqrt(-2 * std::log(uniform(random))) *
         std::cos(2 * std::numbers::pi * uniform(random));
}

// A chi-squared variable divided by its degrees of freedom, close enough for any df (Wilson and
// Hilferty, 1931).
double scaled_chi_squared(Random& random, double df) {
  const double part = 2 / (9 * df);
  return std::pow(std::max(0.01, 1 - part + normal(random) * std::sqrt(part)), 3);
}

}  // namespace

std::optional<Fit> Fit::make(const std::vector<Observation>& observations,
                             std::uint64_t wanted_visits) {
  Fit made;
  made.take_baselines(observations);
  std::size_t baselines = 0;
  double visits = 0;
  std::set<std::size_t> clusters;
  for (const Observation& each : observations) {
    if (made.bases_[each.run].visits <= 0) {
      ++made.dropped_;
      continue;
    }
    visits += each.visits;
    if (each.speedup == 0) {
      ++baselines;
      continue;
    }
    const Base& base = made.bases_[each.run];
    clusters.insert(each.cluster);
    made.sped_.push_back({.run = each.run,
                          .cluster = each.cluster,
                          .speedup = each.speedup,
                          .x = each.speedup / 1000.0,
                          .time = each.time,
                          .expected = each.visits * base.time / base.visits,
                          .visits = each.visits});
  }
  if (baselines < least_baselines || made.sped_.size() < least_sped_up ||
      visits < static_cast<double>(wanted_visits) || clusters.size() < 2 || made.base_df_ < 2)
    return std::nullopt;
  made.slope_df_ = static_cast<double>(clusters.size() - 1);
  made.find_noise();
  made.find_shape();
  made.find_slope_variance();
  return made;
}

void Fit::take_baselines(const std::vector<Observation>& observations) {
  std::size_t runs = 0;
  for (const Observation& each : observations) {
    runs = std::max(runs, each.run + 1);
    clusters_ = std::max(clusters_, each.cluster + 1);
  }
  bases_.resize(runs);
  for (const Observation& each : observations)
    if (each.speedup == 0) {
      bases_[each.run].time += each.time;
      bases_[each.run].visits += each.visits;
    }
  double time = 0;
  double visits = 0;
  for (const Base& base : bases_) {
    if (base.visits <= 0) continue;
    time += base.time;
    visits += base.visits;
    base_df_ -= 1;
  }
  base_ = visits > 0 ? time / visits : 0;
  for (const Observation& each : observations) {
    const Base& base = bases_[each.run];
    if (each.speedup != 0 || base.visits <= 0) continue;
    const double error = each.time - each.visits * base.time / base.visits;
    base_noise_ += error * error / each.time;
    base_df_ += 1;
  }
  if (base_df_ > 0) base_noise_ /= base_df_;
}

// Finds the variation that remains if gains have any shape and runs have bases and slopes of their
// own.
void Fit::find_noise() {
  const std::size_t runs = bases_.size();
  const std::size_t columns = hats + runs + clusters_;
  const double n = static_cast<double>(sped_.size());
  for (const bool is_full : {true, false}) {
    const std::size_t used = is_full ? columns : hats;
    if (is_full && (used + 8 > sped_.size() || used > 200)) continue;
    double scale = 0;
    for (const Sped& each : sped_) scale = std::max(scale, each.expected / std::sqrt(each.time));
    Triangle triangle(used, dependent * scale);
    std::vector<double> row(used);
    for (const Sped& each : sped_) {
      std::ranges::fill(row, 0);
      const double weight = 1 / std::sqrt(each.time);
      const auto hat = hats_of(each.x);
      for (std::size_t j = 0; j < hats; ++j) row[j] = weight * each.expected * hat.at(j);
      if (is_full) {
        row[hats + each.run] = weight * each.expected;
        row[hats + runs + each.cluster] = weight * each.expected * each.x;
      }
      triangle.include(row, weight * (each.expected - each.time));
    }
    triangle.settle();
    const double df = n - static_cast<double>(triangle.rank());
    if (df < 6 && is_full) continue;
    noise_df_ = std::max(1.0, df);
    noise_ = triangle.residual_ss() / noise_df_;
    break;
  }
}

std::vector<double> Fit::smooth() const {
  double scale = 0;
  for (const Sped& each : sped_) scale = std::max(scale, each.expected / std::sqrt(each.time));
  Triangle triangle(hats, dependent * scale);
  for (const Sped& each : sped_) {
    const double weight = 1 / std::sqrt(each.time);
    auto row = hats_of(each.x);
    for (double& cell : row) cell *= weight * each.expected;
    triangle.include(row, weight * (each.expected - each.time));
  }
  triangle.settle();
  return triangle.solution();
}

// If some runs vary more than others, errors are larger and the noise is less certain than for
// normal errors.
void Fit::find_shape() {
  const std::vector<double> curve = smooth();
  double squares = 0;
  for (const Sped& each : sped_) {
    const auto hat = hats_of(each.x);
    double gain = 0;
    for (std::size_t j = 0; j < hats; ++j) gain += hat.at(j) * curve[j];
    errors_.push_back((each.expected * (1 - gain) - each.time) / std::sqrt(each.time));
    squares += errors_.back() * errors_.back();
  }
  const double n = static_cast<double>(errors_.size());
  if (squares <= 0) return;
  double fourth = 0;
  for (double& each : errors_) {
    each /= std::sqrt(squares / n);
    fourth += each * each * each * each / n;
  }
  const double of_normal = 2 / std::max(1.0, fourth - 1);
  if (of_normal < 1) {
    noise_df_ = std::max(1.0, noise_df_ * of_normal);
    base_df_ = std::max(1.0, base_df_ * of_normal);
  }
}

// Estimates by moments how the clusters' slopes vary about the common curve. The part due to noise
// is not subtracted: with few runs, a variance that is too large is better than one that is too
// small.
void Fit::find_slope_variance() {
  const std::vector<double> curve = smooth();
  std::vector<double> error(clusters_);
  std::vector<double> weight(clusters_);
  for (const Sped& each : sped_) {
    const auto hat = hats_of(each.x);
    double gain = 0;
    for (std::size_t j = 0; j < hats; ++j) gain += hat.at(j) * curve[j];
    error[each.cluster] += each.x * (each.expected * (1 - gain) - each.time);
    weight[each.cluster] += each.x * each.x * each.expected;
  }
  double squares = 0;
  double all = 0;
  for (std::size_t k = 0; k < clusters_; ++k) {
    if (weight[k] <= 0) continue;
    squares += error[k] * error[k] / weight[k];
    all += weight[k];
  }
  if (all > 0) slope_variance_ = squares / all * (slope_df_ + 1) / slope_df_;
}

std::optional<Fit::Estimate> Fit::estimate(const std::function<double(double)>& weight,
                                           const std::function<double(double)>& scale) const {
  Estimate made;
  made.of_base.resize(bases_.size());
  made.of_cluster.resize(clusters_);
  double sum = 0;
  double norm = 0;
  for (const Sped& each : sped_) {
    const double w = weight(each.x);
    if (w == 0) continue;
    sum += w * (each.expected - each.time);
    norm += w * scale(each.x) * each.expected;
    made.of_base[each.run] += w * each.expected;
    made.of_cluster[each.cluster] += w * each.x * each.expected;
    made.of_noise += w * w * each.time;
    made.visits += each.visits;
    ++made.experiments;
  }
  if (norm <= 0) return std::nullopt;
  made.value = sum / norm;
  for (double& each : made.of_base) each /= norm;
  for (double& each : made.of_cluster) each /= norm;
  made.of_noise /= norm * norm;
  made.variance = variance_of(made, base_noise_, noise_, slope_variance_);
  // Satterthwaite, Biometrics 1946.
  const std::array<std::pair<double, double>, 3> parts{
      std::pair{variance_of(made, base_noise_, 0, 0), base_df_},
      std::pair{variance_of(made, 0, noise_, 0), noise_df_},
      std::pair{variance_of(made, 0, 0, slope_variance_), slope_df_}};
  double below = 0;
  for (const auto& [part, df] : parts)
    if (made.variance > 0) below += part / made.variance * (part / made.variance) / df;
  made.df = below > 0 ? 1 / below : noise_df_;
  return made;
}

std::optional<Fit::Estimate> Fit::around(double x, double reach) const {
  const auto is_near = [&](double other) { return std::fabs(other - x) < reach + 1e-9; };
  double first = 0;
  double second = 0;
  for (const Sped& each : sped_) {
    if (!is_near(each.x)) continue;
    first += (each.x - x) * each.expected;
    second += (each.x - x) * (each.x - x) * each.expected;
  }
  // With these weights, a slope contributes nothing.
  const auto weight = [&](double other) {
    if (!is_near(other)) return 0.0;
    return second > 0 ? 1 - first / second * (other - x) : 1.0;
  };
  return estimate(weight, [](double) { return 1.0; });
}

double Fit::variance_of(const Estimate& of, double base_noise, double noise,
                        double slope_variance) const {
  double variance = of.of_noise * noise;
  for (std::size_t r = 0; r < bases_.size(); ++r)
    if (bases_[r].time > 0) variance += of.of_base[r] * of.of_base[r] * base_noise / bases_[r].time;
  for (const double each : of.of_cluster) variance += each * each * slope_variance;
  return variance;
}

double Fit::simultaneous(const std::vector<Estimate>& estimates, double alpha, std::size_t draws,
                         Random& random) const {
  double least = 0;
  for (const Estimate& each : estimates)
    least = std::max(least, t_upper_quantile(alpha / 2, each.df).value_or(0));
  if (estimates.size() < 2) return least;
  std::vector<double> farthest(draws);
  std::vector<double> b(bases_.size());
  std::vector<double> c(clusters_);
  for (double& far : farthest) {
    for (std::size_t r = 0; r < b.size(); ++r)
      b[r] = bases_[r].time > 0 ? normal(random) * std::sqrt(base_noise_ / bases_[r].time) : 0;
    for (double& each : c) each = normal(random) * std::sqrt(slope_variance_);
    const double base_noise = base_noise_ * scaled_chi_squared(random, base_df_);
    const double noise = noise_ * scaled_chi_squared(random, noise_df_);
    const double slopes = slope_variance_ * scaled_chi_squared(random, slope_df_);
    for (const Estimate& each : estimates) {
      double error = 0;
      for (std::size_t i = 0; i < each.experiments; ++i)
        error += errors_[random.below(errors_.size())];
      error *= std::sqrt(each.of_noise * noise_ / static_cast<double>(each.experiments));
      for (std::size_t r = 0; r < b.size(); ++r) error += each.of_base[r] * b[r];
      for (std::size_t k = 0; k < c.size(); ++k) error += each.of_cluster[k] * c[k];
      const double variance = variance_of(each, base_noise, noise, slopes);
      if (variance > 0) far = std::max(far, std::fabs(error) / std::sqrt(variance));
    }
  }
  std::ranges::sort(farthest);
  const auto at = static_cast<std::size_t>(std::ceil((1 - alpha) * static_cast<double>(draws)));
  return std::max(least, farthest[std::min(draws - 1, at)]);
}

std::vector<unsigned> Fit::speedups() const {
  std::set<unsigned> found;
  for (const Sped& each : sped_) found.insert(each.speedup);
  return {found.begin(), found.end()};
}

}  // namespace stab::stats::causal
