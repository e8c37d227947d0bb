// SPDX-License-Identifier: MIT
#include "client/check/exclusion_words.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/duration.h"
#include "machine/migrations.h"
#include "machine/quality/observer.h"
#include "plan/quantities.h"
#include "results/exclusion/judge.h"

namespace stab::client {
namespace {

// Why rules with this quantity can't be applied; "" if they can.
std::string why_absent(const plan::Quantity& quantity, std::span<const counters::Reading> here) {
  constexpr std::int64_t any_time = 1'000'000'000;
  const auto value = exclusion::value_of(quantity, here, any_time);
  return value ? "" : value.error();
}

// Whether the kernel counts the reading in its own ticks; other times are exact to the microsecond.
bool is_in_ticks(const plan::Quantity& quantity) {
  return quantity.reading == "steal-ns" || quantity.reading == "other-cpus-busy-ns";
}

// Names the duration of a trial in which a single event or tick would reach the rule's limit.
std::string words_of_one(const plan::Exclusion& rule, const plan::Quantity& quantity) {
  const bool upper = rule.bound == plan::Bound::above || rule.bound == plan::Bound::at_least;
  if (!upper || rule.limit <= 1e-5) return "";
  const auto time = [&](double one_ns) {
    return format_duration(
        std::chrono::nanoseconds(static_cast<std::int64_t>(one_ns / rule.limit)));
  };
  if (quantity.take == plan::Take::per_second)
    return fmt::format("one event alone exceeds the limit in a trial of {}", time(1e9));
  if (quantity.take != plan::Take::share || !is_in_ticks(quantity)) return "";
  const std::chrono::nanoseconds tick(1'000'000'000 / sysconf(_SC_CLK_TCK));
  return fmt::format(
      "the kernel counts in ticks of {}: one tick alone exceeds the limit in a trial of {}",
      format_duration(tick), time(static_cast<double>(tick.count())));
}

}  // namespace

std::vector<counters::Reading> readings_here() {
  std::vector<counters::Reading> readings;
  machine::Observer observer(machine::CpuSet{static_cast<unsigned>(std::max(sched_getcpu(), 0))});
  observer.before();
  observer.after(readings);
  // The kernel counts these for every process.
  for (const char* name : {"page-faults-minor", "page-faults-major", "context-switches-voluntary",
                           "context-switches-involuntary"})
    readings.push_back(counters::counted(name, "", 0));
  readings.push_back(
      machine::migrations_of(getpid())
          ? counters::counted("cpu-migrations", "", 0)
          : counters::absent("cpu-migrations", "", "this kernel does not show /proc/PID/sched"));
  return readings;
}

std::vector<std::string> exclusion_lines(const plan::Plan& plan,
                                         std::span<const counters::Reading> here) {
  std::vector<std::string> lines;
  for (const plan::Exclusion& rule : plan.exclude) {
    const plan::Quantity& quantity = *plan::find_quantity(rule.quantity);
    lines.push_back(fmt::format("excluded where {} ({})", plan::describe(rule), quantity.meaning));
    if (const std::string one = words_of_one(rule, quantity); !one.empty())
      lines.push_back("  " + one);
    if (const std::string why = why_absent(quantity, here); !why.empty())
      lines.push_back(fmt::format("  warning: this rule excludes nothing here: {}", why));
  }
  if (!lines.empty())
    lines.push_back(
        plan.exclude_repeats == 0
            ? std::string("excluded trials are not repeated (exclude_repeats = 0)")
            : fmt::format(
                  "excluded trials are repeated at the end of their block, up to {} time{} each",
                  plan.exclude_repeats, plan.exclude_repeats == 1 ? "" : "s"));
  return lines;
}

nlohmann::ordered_json exclusion_json(const plan::Plan& plan,
                                      std::span<const counters::Reading> here) {
  if (plan.exclude.empty()) return nullptr;
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  for (const plan::Exclusion& rule : plan.exclude) {
    const plan::Quantity& quantity = *plan::find_quantity(rule.quantity);
    const std::string why = why_absent(quantity, here);
    rules.push_back({{"when", plan::describe(rule)},
                     {"meaning", quantity.meaning},
                     {"absent_here", why.empty() ? nlohmann::ordered_json(nullptr)
                                                 : nlohmann::ordered_json(why)}});
  }
  return {{"rules", rules}, {"repeats", plan.exclude_repeats}};
}

}  // namespace stab::client
