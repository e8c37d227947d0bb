// SPDX-License-Identifier: MIT
#include "machine/quality/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

namespace stab::machine {
namespace {

constexpr std::string_view unknown = "its format is unknown";
constexpr std::int64_t ns_per_second = 1'000'000'000;

std::unexpected<std::string> strange() {
  return std::unexpected(std::string(unknown));
}

// Removes the next word from the line and returns it.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::optional<std::int64_t> whole(std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// The number of a CPU in "cpu12" or "CPU12".
std::optional<unsigned> cpu_in(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  const auto number = whole(word.substr(prefix.size()));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<unsigned>(*number);
}

bool has(const CpuSet& cpus, unsigned cpu) {
  return std::ranges::binary_search(cpus, cpu);
}

// In this order: user nice system idle iowait irq softirq steal.
using Times = std::array<std::int64_t, 8>;

// Calls visit() for the line of each CPU. Returns false if a line has an unknown format.
template <class Visitor>
bool for_each_cpu(std::string_view stat, Visitor visit) {
  while (stat.starts_with("cpu")) {
    std::string_view line = next_line(stat);
    const std::string_view name = next_word(line);
    if (name == "cpu") continue;  // the sum of all CPUs
    const auto cpu = cpu_in(name, "cpu");
    Times times{};
    for (std::int64_t& time : times) {
      const auto ticks = whole(next_word(line));
      if (!ticks || *ticks < 0) return false;
      time = *ticks;
    }
    if (!cpu) return false;
    visit(*cpu, times);
  }
  return true;
}

}  // namespace

Value number_in(std::string_view text) {
  std::string_view line = next_line(text);
  const auto number = whole(next_word(line));
  if (!number || !next_word(line).empty()) return strange();
  return *number;
}

Value waited_in(std::string_view pressure) {
  std::string_view line = next_line(pressure);
  if (next_word(line) != "some") return strange();
  constexpr std::string_view total = "total=";
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (!word.starts_with(total)) continue;
    const auto us = whole(word.substr(total.size()));
    if (!us || *us < 0 || *us > std::numeric_limits<std::int64_t>::max() / 1000) break;
    return *us * 1000;
  }
  return strange();
}

Value stolen_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks) {
  std::int64_t sum = 0;
  std::size_t found = 0;
  const bool known = for_each_cpu(stat, [&](unsigned cpu, const Times& times) {
    if (!has(cpus, cpu)) return;
    sum += times[7];
    ++found;
  });
  if (!known) return strange();
  if (found != cpus.size()) return std::unexpected("one of the trial's CPUs is missing from it");
  return sum * (ns_per_second / ticks);
}

std::expected<Busy, std::string> busy_in(std::string_view stat, const CpuSet& cpus,
                                         std::int64_t ticks) {
  Busy busy;
  const bool known = for_each_cpu(stat, [&](unsigned cpu, const Times& times) {
    const std::int64_t tick = ns_per_second / ticks;
    const bool trial = has(cpus, cpu);
    (trial ? busy.trial_ns : busy.others_ns) +=
        (times[0] + times[1] + times[2] + times[5] + times[6]) * tick;
    (trial ? busy.trial_stolen_ns : busy.others_stolen_ns) += times[7] * tick;
    busy.others += trial ? 0 : 1;
  });
  if (!known) return strange();
  return busy;
}

Value others_busy_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks) {
  const auto busy = busy_in(stat, cpus, ticks);
  if (!busy) return std::unexpected(busy.error());
  if (busy->others == 0) return std::unexpected("there is no other CPU");
  return busy->others_ns;
}

Value sum_of_columns(std::string_view table, const CpuSet& cpus) {
  std::string_view header = next_line(table);
  std::vector<bool> wanted;  // by column; offline CPUs have no column
  for (std::string_view word = next_word(header); !word.empty(); word = next_word(header)) {
    const auto cpu = cpu_in(word, "CPU");
    if (!cpu) return strange();
    wanted.push_back(has(cpus, *cpu));
  }
  if (!std::cmp_equal(std::ranges::count(wanted, true), cpus.size()))
    return std::unexpected("one of the trial's CPUs is missing from it");
  std::int64_t sum = 0;
  bool any = false;
  while (!table.empty()) {
    std::string_view line = next_line(table);
    const std::string_view name = next_word(line);
    if (name.empty()) continue;
    if (!name.ends_with(':')) return strange();
    if (name == "ERR:" || name == "MIS:") continue;  // counts for the whole machine
    any = true;
    for (const bool take : wanted) {
      const auto count = whole(next_word(line));
      if (!count || *count < 0) return strange();
      if (take) sum += *count;
    }
  }
  if (!any) return strange();
  return sum;
}

}  // namespace stab::machine
