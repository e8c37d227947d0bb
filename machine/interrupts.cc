// SPDX-License-Identifier: MIT
#include "machine/interrupts.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace stab::machine {
namespace {

constexpr double busy_per_second = 10;

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) return found;
    found.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(found.back().size());
  }
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses the heading, such as "CPU0 CPU2". Offline CPUs have no column.
std::optional<CpuSet> columns_of(std::string_view head) {
  CpuSet cpus;
  for (const std::string_view word : words(head)) {
    const auto cpu = word.starts_with("CPU") ? number<unsigned>(word.substr(3)) : std::nullopt;
    if (!cpu) return std::nullopt;
    cpus.push_back(*cpu);
  }
  return cpus;
}

}  // namespace

CpuSet cpus_of_devices(std::string_view interrupts, std::string_view uptime) {
  const auto seconds = number<double>(uptime.substr(0, uptime.find(' ')));
  const auto head = interrupts.substr(0, interrupts.find('\n'));
  const auto columns = columns_of(head);
  if (!seconds || !columns) return {};
  std::map<unsigned, std::uint64_t> served;
  interrupts.remove_prefix(std::min(head.size() + 1, interrupts.size()));
  while (!interrupts.empty()) {
    const auto line = interrupts.substr(0, interrupts.find('\n'));
    interrupts.remove_prefix(std::min(line.size() + 1, interrupts.size()));
    const auto row = words(line);
    // Interrupts of devices have numbers. The CPU's own interrupts, such as its timer, have names.
    if (row.size() <= columns->size() || !row[0].ends_with(':') ||
        !number<unsigned>(row[0].substr(0, row[0].size() - 1)))
      continue;
    for (std::size_t i = 0; i < columns->size(); ++i)
      served[(*columns)[i]] += number<std::uint64_t>(row[i + 1]).value_or(0);
  }
  CpuSet busy;
  for (const auto& [cpu, count] : served)
    if (static_cast<double>(count) > busy_per_second * *seconds) busy.push_back(cpu);
  return busy;
}

}  // namespace stab::machine
