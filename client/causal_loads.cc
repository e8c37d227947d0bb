// SPDX-License-Identifier: MIT
#include "client/causal_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <ranges>
#include <string_view>

#include "base/duration.h"
#include "base/text.h"

namespace stab::client::causal {
namespace {

using stab::causal::Arrivals;

// A visit may save at most this share of the time between two visits: if it saved all of it, the
// thread would need no time at all.
constexpr double most_gained = 0.95;
// Threads with fewer gaps are ignored, because the mean of so few gaps says little.
constexpr std::uint64_t least_gaps = 10;

double gap_of(const Arrivals& thread) {
  return static_cast<double>(thread.ns) / static_cast<double>(thread.gaps);
}

std::string nanoseconds(double ns) {
  return format_duration(std::chrono::nanoseconds(std::llround(ns)));
}

Result<double> load_of(std::string_view word) {
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || std::string_view(at, end) != "x" || !std::isfinite(value) ||
      value <= 0)
    return wrong_call(
        fmt::format("--load needs loads, as in 1.25x or 1x,1.5x, not '{}'", one_line(word, 60)));
  if (value < 1)
    return wrong_call(
        fmt::format("--load {}: arrivals can only be made faster, so the lowest load is 1x", word));
  return value;
}

}  // namespace

Result<std::vector<double>> read_loads(const std::string& text) {
  std::vector<double> made;
  for (const auto part : std::views::split(text, ',')) {
    const auto load = load_of(std::string_view(part.begin(), part.end()));
    if (!load) return std::unexpected(load.error());
    made.push_back(*load);
  }
  std::ranges::sort(made);
  if (std::ranges::adjacent_find(made) != made.end())
    return wrong_call(fmt::format("--load {}: the same load appears twice", one_line(text, 200)));
  return made;
}

std::chrono::nanoseconds mean_gap(std::span<const Arrivals> arrivals) {
  double gaps = 0;
  double ns = 0;
  for (const Arrivals& each : arrivals) {
    gaps += static_cast<double>(each.gaps);
    ns += static_cast<double>(each.ns);
  }
  return std::chrono::nanoseconds(gaps > 0 ? std::llround(ns / gaps) : 0);
}

Result<std::uint64_t> speedup_for(double load, std::span<const Arrivals> arrivals) {
  std::vector<Arrivals> threads;
  double visits = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (const Arrivals& each : arrivals) {
    if (each.gaps < least_gaps) continue;
    threads.push_back(each);
    visits += static_cast<double>(each.gaps);
    shortest = std::min(shortest, gap_of(each));
  }
  if (threads.empty())
    return wrong_call(
        arrivals.empty()
            ? "--load: no arrival point was visited; put STAB_ARRIVAL(\"name\") from stabilizer.h "
              "where new work arrives"
            : "--load: no thread visits arrival points often enough; a thread needs more than 10 "
              "visits");
  // A thread with a mean gap of T visits T / (T - faster) times as often.
  const auto load_at = [&](double faster) {
    double sum = 0;
    for (const Arrivals& each : threads)
      sum += static_cast<double>(each.gaps) * gap_of(each) / (gap_of(each) - faster);
    return sum / visits;
  };
  double high = most_gained * shortest;
  if (load > load_at(high) * (1 + 1e-9))
    return fail(fmt::format(
        "--load {}x cannot be reached: each arrival would have to come earlier by almost all of "
        "the {} between two arrivals, or by even more; the highest possible load is {:.2f}x",
        load, nanoseconds(shortest), load_at(high)));
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (load_at(middle) < load ? low : high) = middle;
  }
  return load == 1 ? 0 : static_cast<std::uint64_t>(std::llround(high));
}

}  // namespace stab::client::causal
