// SPDX-License-Identifier: MIT
#include "machine/calm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/fd.h"

namespace stab::machine {
namespace {

constexpr std::size_t most_bytes = 1 << 20;

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

}  // namespace

Calm::Calm(CpuSet trial, const CalmBounds& bounds, const std::string& root)
    : trial_(std::move(trial)),
      bounds_(bounds),
      root_(root),
      observer_(trial_, root),
      before_(std::unexpected("there was no earlier reading")) {}

std::expected<Busy, std::string> Calm::busy() const {
  const auto text = read_file(root_ + "/proc/stat", most_bytes);
  if (!text) return std::unexpected(text.error().message);
  return busy_in(*text, trial_, sysconf(_SC_CLK_TCK));
}

void Calm::begin() {
  before_ = busy();
  observer_.before();
}

std::optional<double> Calm::number(const std::vector<counters::Reading>& readings,
                                   std::string_view name) {
  const auto found = std::ranges::find(readings, name, &counters::Reading::name);
  if (found == readings.end()) return std::nullopt;
  if (found->status == counters::Status::absent) {
    missing_.push_back(fmt::format("{} ({})", name, found->reason));
    return std::nullopt;
  }
  return std::visit([](auto value) { return static_cast<double>(value); }, found->value);
}

std::string Calm::end(std::chrono::nanoseconds passed) {
  const auto time = static_cast<double>(std::max<std::int64_t>(passed.count(), 1));
  missing_.clear();
  std::vector<std::string> loud;
  if (passed < shortest_look) loud.emplace_back("the time between readings was too short");
  const auto now = busy();
  if (now && before_) {
    const auto look_at = [&](const std::string& cpus, std::size_t count, std::int64_t busy_ns,
                             std::int64_t stolen_ns) {
      const double all = time * static_cast<double>(std::max<std::size_t>(count, 1));
      const double busy = static_cast<double>(busy_ns) / all;
      const double stolen = static_cast<double>(stolen_ns) / all;
      if (busy + stolen <= bounds_.load) return;
      std::string words = cpus + percent(busy) + " busy";
      if (stolen_ns > 0) words += fmt::format(", and the host takes {} more", percent(stolen));
      loud.push_back(std::move(words));
    };
    look_at(fmt::format("CPU {} is ", to_string(trial_)), trial_.size(),
            now->trial_ns - before_->trial_ns, now->trial_stolen_ns - before_->trial_stolen_ns);
    look_at("the other CPUs are ", now->others, now->others_ns - before_->others_ns,
            now->others_stolen_ns - before_->others_stolen_ns);
  } else {
    missing_.push_back(fmt::format("load ({})", now ? before_.error() : now.error()));
  }
  std::vector<counters::Reading> readings;
  observer_.after(readings);
  if (const auto ns = number(readings, "memory-pressure-ns"); ns && *ns / time > bounds_.load)
    loud.push_back(fmt::format("for {} of the time, tasks wait for memory", percent(*ns / time)));
  if (bounds_.temperature_c) {
    const auto now_c = number(readings, "temperature-after-c");
    if (now_c && *now_c > *bounds_.temperature_c)
      loud.push_back(fmt::format("{} C is above {}", *now_c, *bounds_.temperature_c));
  }
  if (bounds_.frequency_khz) {
    const auto khz = number(readings, "frequency-after-khz");
    if (khz && *khz < *bounds_.frequency_khz)
      loud.push_back(fmt::format("{} kHz is below {}", *khz, *bounds_.frequency_khz));
  }
  return fmt::format("{}", fmt::join(loud, ", "));
}

}  // namespace stab::machine
