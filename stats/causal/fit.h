// SPDX-License-Identifier: MIT
// The model of one line at one progress point. In run r an experiment e at speedup x takes
//
//     time_e = expected_e (1 - gain(x) - c_k x) + noise_e,   expected_e = visits_e R_r (1 + b_r)
//
// where R_r is the run's time per visit at speedup 0 and b_r its error. noise_e has the variance
// noise^2 time_e. c_k belongs to a run or a part of a run (a cluster), and has the variance
// slope_variance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "stats/causal/analyse.h"

namespace stab::stats::causal {

// An experiment. Its time is the effective duration, multiplied by the items inside for latency
// points.
struct Observation {
  std::size_t run = 0;
  std::size_t cluster = 0;
  unsigned speedup = 0;
  double time = 0;  // above 0
  double visits = 0;
};

class Fit {
 public:
  // Drops runs without R_r. Returns nothing if the rest has too few experiments (least_* in
  // analyse.h) or fewer than `wanted_visits`.
  static std::optional<Fit> make(const std::vector<Observation>& observations,
                                 std::uint64_t wanted_visits);

  // The sum of weight(x) (expected - time), divided by the sum of weight(x) scale(x) expected: the
  // gain at a speedup, a slope and the like.
  struct Estimate {
    double value = 0;
    double variance = 0;
    double df = 0;
    std::size_t experiments = 0;
    double visits = 0;
    std::vector<double> of_base{};     // factor of each run's b
    std::vector<double> of_cluster{};  // factor of each cluster's c
    double of_noise = 0;               // factor of noise^2
  };
  [[nodiscard]] std::optional<Estimate> estimate(const std::function<double(double)>& weight,
                                                 const std::function<double(double)>& scale) const;

  // The gain at x, by a straight line through all experiments up to `reach` from x. It does not
  // show a corner of the curve in that range.
  [[nodiscard]] std::optional<Estimate> around(double x, double reach) const;

  // Returns the factor for standard errors with which the intervals of all these estimates hold
  // together with probability 1 - alpha. It is drawn from the model, and never smaller than for one
  // estimate alone.
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

  std::vector<Base> bases_;  // of each run; time 0: no baseline
  std::vector<Sped> sped_;
  std::vector<double> errors_;  // errors of sped_, with a mean square of 1
  std::size_t clusters_ = 0;
  std::size_t dropped_ = 0;
  double base_ = 0;
  double base_noise_ = 0;  // noise^2 at speedup 0
  double base_df_ = 0;
  double noise_ = 0;  // noise^2 at other speedups
  double noise_df_ = 0;
  double slope_variance_ = 0;
  double slope_df_ = 0;
};

}  // namespace stab::stats::causal
