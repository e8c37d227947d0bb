// SPDX-License-Identifier: MIT
#include "stats/planning/power.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "stats/numbers/distribution.h"
#include "stats/numbers/root.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

constexpr std::size_t most = 10'000'000;

Result<void> require_positive(double value, const char* what) {
  if (value > 0 && std::isfinite(value)) return {};
  return fail(std::string(what) + " must be above 0");
}

Result<void> require_power(double alpha, double power) {
  if (auto usable = require_alpha(alpha); !usable) return usable;
  if (power > alpha && power < 1) return {};
  return fail("the power must lie between alpha and 1");
}

double df_of(Samples kind, double n) {
  return kind == Samples::two ? 2 * (n - 1) : n - 1;
}

// The standard error of the difference if sd is 1.
double error_of(Samples kind, double n) {
  return std::sqrt((kind == Samples::two ? 2 : 1) / n);
}

// `delta` is the difference, in standard errors.
std::optional<double> power_at(double df, double delta, double alpha) {
  const auto t = t_upper_quantile(alpha / 2, df);
  if (!t) return std::nullopt;
  const auto below = noncentral_t_cdf(-*t, df, delta);
  const auto above = noncentral_t_cdf(-*t, df, -delta);  // more accurate than 1 - P(T <= t)
  if (!below || !above) return std::nullopt;
  return *below + *above;
}

template <class Enough>
Result<std::size_t> smallest_n(Enough enough) {
  std::size_t high = 2;
  while (high < most && !enough(high)) high *= 2;
  if (high >= most) return fail("more than ten million repetitions would be needed");
  std::size_t low = high / 2;
  while (high - low > 1 && high > 2) {
    const std::size_t middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Result<double> t_power(Samples kind, std::size_t n, double difference, double sd, double alpha) {
  if (n < 2) return fail("the power of a t-test is known only for two or more repetitions");
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (const auto usable = require_positive(sd, "a standard deviation"); !usable)
    return std::unexpected(usable.error());
  const double size = static_cast<double>(n);
  const double delta = std::abs(difference) / (sd * error_of(kind, size));
  const auto power = power_at(df_of(kind, size), delta, alpha);
  if (!power) return fail("the power of the t-test is beyond what can be computed");
  return *power;
}

Result<double> t_detectable(double error, double df, double alpha, double power) {
  if (const auto usable = require_power(alpha, power); !usable)
    return std::unexpected(usable.error());
  if (const auto usable = require_positive(error, "a standard error"); !usable)
    return std::unexpected(usable.error());
  if (const auto usable = require_positive(df, "degrees of freedom"); !usable)
    return std::unexpected(usable.error());
  const auto lacking = [&](double delta) -> std::optional<double> {
    const auto reached = power_at(df, delta, alpha);
    return reached ? std::optional(power - *reached) : std::nullopt;
  };
  const auto delta = find_root_above(lacking, 0, 1);
  if (!delta) return fail("the detectable difference is too large or too small to compute");
  return *delta * error;
}

Result<double> t_detectable(Samples kind, std::size_t n, double sd, double alpha, double power) {
  if (n < 2) return fail("the power of a t-test is known only for two or more repetitions");
  if (const auto usable = require_positive(sd, "a standard deviation"); !usable)
    return std::unexpected(usable.error());
  const double size = static_cast<double>(n);
  return t_detectable(sd * error_of(kind, size), df_of(kind, size), alpha, power);
}

Result<std::size_t> t_needed(Samples kind, double difference, double sd, double alpha,
                             double power) {
  if (const auto usable = require_power(alpha, power); !usable)
    return std::unexpected(usable.error());
  if (difference == 0) return fail("no number of repetitions can show a difference of 0");
  if (const auto usable = t_power(kind, 2, difference, sd, alpha); !usable)
    return std::unexpected(usable.error());
  return smallest_n([&](std::size_t n) {
    const auto reached = t_power(kind, n, difference, sd, alpha);
    return reached && *reached >= power;
  });
}

Result<std::size_t> t_needed(const Shown& shown, double difference, double alpha, double power) {
  if (const auto usable = require_power(alpha, power); !usable)
    return std::unexpected(usable.error());
  if (difference == 0) return fail("no number of repetitions can show a difference of 0");
  if (const auto usable = require_positive(shown.error, "a standard error"); !usable)
    return std::unexpected(usable.error());
  if (const auto usable = require_positive(shown.df, "degrees of freedom"); !usable)
    return std::unexpected(usable.error());
  if (shown.units < 2)
    return fail("the power of a t-test is known only for two or more repetitions");
  const double units = static_cast<double>(shown.units);
  const double own = std::max(0.0, shown.error * shown.error - shown.fixed);
  return smallest_n([&](std::size_t n) {
    const double size = static_cast<double>(n);
    const double error = std::sqrt(shown.fixed + own * units / size);
    const double df = shown.df == units - 1 ? size - 1 : std::max(1.0, shown.df * size / units);
    const auto reached = power_at(df, std::abs(difference) / error, alpha);
    return reached && *reached >= power;
  });
}

Result<std::size_t> needed_for_half_width(Samples kind, double half_width, double sd, double alpha,
                                          double assurance) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (const auto usable = require_positive(half_width, "a half width"); !usable)
    return std::unexpected(usable.error());
  if (const auto usable = require_positive(sd, "a standard deviation"); !usable)
    return std::unexpected(usable.error());
  if (!(assurance > 0 && assurance < 1)) return fail("the assurance must lie between 0 and 1");
  return smallest_n([&](std::size_t n) {
    const double size = static_cast<double>(n);
    const double df = df_of(kind, size);
    const auto t = t_upper_quantile(alpha / 2, df);
    if (!t) return false;
    const double ratio = half_width / (*t * sd * error_of(kind, size));
    const auto reached = chi_squared_cdf(df * ratio * ratio, df);
    return reached && *reached >= assurance;
  });
}

}  // namespace stab::stats
