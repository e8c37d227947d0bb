// SPDX-License-Identifier: MIT
#include "plan/quantities.h"

#include <algorithm>
#include <array>

namespace stab::plan {
namespace {

// clang-format off
constexpr std::array quantity_table{
    Quantity{"involuntary_switches_per_s", "1/s", "context-switches-involuntary", "", Take::per_second, "how often other processes took the program's CPU"},
    Quantity{"voluntary_switches_per_s", "1/s", "context-switches-voluntary", "", Take::per_second, "how often the program waited"},
    Quantity{"migrations_per_s", "1/s", "cpu-migrations", "", Take::per_second, "how often the program's first thread moved to another CPU"},
    Quantity{"major_faults_per_s", "1/s", "page-faults-major", "", Take::per_second, "page faults that waited for a disk"},
    Quantity{"interrupts_per_s", "1/s", "interrupts", "", Take::per_second, "interrupts on the trial's CPUs, including timer interrupts"},
    Quantity{"softirqs_per_s", "1/s", "softirqs", "", Take::per_second, "how often the kernel ran deferred work (softirqs) on the trial's CPUs"},
    Quantity{"throttled_per_s", "1/s", "throttled", "", Take::per_second, "how often heat slowed the trial's CPUs down"},
    Quantity{"steal_share", "", "steal-ns", "", Take::share, "time that the host took from the trial's CPUs, relative to the trial's duration: 1 means that the host took one CPU all the time"},
    Quantity{"other_cpus_busy_share", "", "other-cpus-busy-ns", "", Take::share, "CPU time used on the other CPUs, relative to the trial's duration: 1 means that one CPU was busy all the time"},
    Quantity{"memory_pressure_share", "", "memory-pressure-ns", "", Take::share, "the share of the trial's duration in which at least one task on the machine waited for memory"},
    Quantity{"frequency_before_khz", "kHz", "frequency-before-khz", "", Take::as_it_is, "the lowest frequency of the trial's CPUs, before the trial"},
    Quantity{"frequency_after_khz", "kHz", "frequency-after-khz", "", Take::as_it_is, "the lowest frequency of the trial's CPUs, after the trial"},
    Quantity{"frequency_change", "", "frequency-after-khz", "frequency-before-khz", Take::relative_change, "how much the frequency changed, up or down, as a share of the frequency before the trial"},
    Quantity{"temperature_before_c", "C", "temperature-before-c", "", Take::as_it_is, "the CPU's temperature before the trial"},
    Quantity{"temperature_after_c", "C", "temperature-after-c", "", Take::as_it_is, "the CPU's temperature after the trial"},
    Quantity{"temperature_change_c", "C", "temperature-after-c", "temperature-before-c", Take::difference, "the temperature after the trial minus the temperature before it"},
    Quantity{"clocksource_changes", "", "clocksource-changes", "", Take::as_it_is, "1 if the kernel used a different clock after the trial than before, otherwise 0"},
};
// clang-format on

bool is_count_of(std::string_view reading, std::string_view event) {
  std::string name(event);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (reading.starts_with("page-faults")) return name.contains("fault");
  if (reading.starts_with("cpu-migrations")) return name.contains("migrations");
  return reading.starts_with("context-switches") &&
         (name.contains("switch") || name == "cs" || name.starts_with("cs:") ||
          name.ends_with("::cs") || name.contains("::cs:"));
}

bool is_counter(const Plan& plan, const std::string& name) {
  const auto names = counter_names(plan);
  return std::ranges::find(names, name) != names.end();
}

bool looks_at(const Plan& plan, const Quantity& quantity, const std::string& name) {
  if (name == quantity.reading || (!quantity.before.empty() && name == quantity.before))
    return true;
  return is_counter(plan, name) && is_count_of(quantity.reading, name);
}

}  // namespace

std::span<const Quantity> quantities() {
  return quantity_table;
}

const Quantity* find_quantity(std::string_view name) {
  const auto* const found = std::ranges::find(quantity_table, name, &Quantity::name);
  return found == quantity_table.end() ? nullptr : found;
}

bool has_sign(const Quantity& quantity) {
  return quantity.take == Take::difference || quantity.unit == "C";
}

const Exclusion* rule_on(const Plan& plan, std::span<const std::string> names) {
  const auto rule = std::ranges::find_if(plan.exclude, [&](const Exclusion& each) {
    const Quantity& quantity = *find_quantity(each.quantity);
    return std::ranges::any_of(
        names, [&](const std::string& name) { return looks_at(plan, quantity, name); });
  });
  return rule == plan.exclude.end() ? nullptr : &*rule;
}

std::string_view to_string(Bound bound) {
  switch (bound) {
    case Bound::above:
      return ">";
    case Bound::at_least:
      return ">=";
    case Bound::below:
      return "<";
    case Bound::at_most:
      return "<=";
  }
  return ">";
}

bool catches(const Exclusion& rule, double value) {
  switch (rule.bound) {
    case Bound::above:
      return value > rule.limit;
    case Bound::at_least:
      return value >= rule.limit;
    case Bound::below:
      return value < rule.limit;
    case Bound::at_most:
      return value <= rule.limit;
  }
  return false;
}

}  // namespace stab::plan
