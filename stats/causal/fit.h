// SPDX-License-Identifier: MIT
// The model of one line at one progress point. In run r an experiment e at speedup x takes
//
//     time_e = expected_e (1 - gain(x) - c_k x) + noise_e,   expected_e = visits_e R_r (1 + b_r)
//
// where R_r is the run's time per visit at speedup 0 and b_r its error. noise_e has variance
// noise^2 time_e; c_k, of a run or a part of one (a cluster), has variance slope_variance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "stats/causal/analyse.h"

namespace stab::stats::causal {

// Time as it counts: effective duration, or that times items inside for latency points.
struct Observation {
  std::size_t run = 0;
  std::size_t cluster = 0;
  unsigned speedup = 0;
  double time = 0;  // above 0
  double visits = 0;
};

class Fit {
 public:
  // Nothing unless what is left when runs without R_r are dropped is enough (least_* of analyse.h), and
  // has so many visits.
  static std::optional<Fit> make(const std::vector<Observation>& observations,
                                 std::uint64_t wanted_visits);

  // Sum of weight(x) (expected - time) by the sum of weight(x) scale(x) expected: the gain at a
  // speedup, a slope and the like.
  struct Estimate {
    double value = 0;
    double variance = 0;
    double df = 0;
    std::size_t experiments = 0;
    double visits = 0;
    std::vector<double> of_base{};     // factors of each run's b
    std::vector<double> of_cluster{};  // factors of each cluster's c
    double of_noise = 0;               // factor of noise^2
  };
  [[nodiscard]] std::optional<Estimate> estimate(const std::function<double(double)>& weight,
                                                 const std::function<double(double)>& scale) const;

  // The gain at x by a straight line through what is at most so far from x: what a corner of the curve
  // within that is, it does not see.
  [[nodiscard]] std::optional<Estimate> around(double x, double reach) const;

  // By how many of its own errors the farthest of these is off, at most, (1 - alpha): drawn from the
  // model. The factor is at least that of one of them alone.
  [[nodiscard]] double simultaneous(const std::vector<Estimate>& estimates, double alpha,
                                    std::size_t draws, Random& random) const;

  [[nodiscard]] std::vector<unsigned> speedups() const;  // each once, ascending, without 0
  [[nodiscard]] std::size_t dropped() const { return dropped_; }
  [[nodiscard]] double base() const { return base_; }

 private:
  struct Sped {
    std::size_t run = 0;
    std::size_t cluster = 0;
    unsigned speedup = 0;
    double x = 0;
    double time = 0;
    double expected = 0;
    double visits = 0;
  };
  struct Base {
    double time = 0;
    double visits = 0;
  };

  void take_baselines(const std::vector<Observation>& observations);
  void find_noise();
  void find_shape();
  void find_slope_variance();
  [[nodiscard]] std::vector<double> smooth() const;
  [[nodiscard]] double variance_of(const Estimate& of, double base_noise, double noise,
                                   double slope_variance) const;

  std::vector<Base> bases_;  // of each run; time 0: none
  std::vector<Sped> sped_;
  std::vector<double> errors_;  // of sped_, their mean square 1
  std::size_t clusters_ = 0;
  std::size_t dropped_ = 0;
  double base_ = 0;
  double base_noise_ = 0;  // noise^2 at speedup 0
  double base_df_ = 0;
  double noise_ = 0;  // noise^2 at others
  double noise_df_ = 0;
  double slope_variance_ = 0;
  double slope_df_ = 0;
};

}  // namespace stab::stats::causal
