// SPDX-License-Identifier: MIT
#include "client/check/wait_words.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "machine/quality/calm.h"
#include "report/or_null.h"

namespace stab::client {
namespace {

// Looks at the current CPU for a moment to find out which sources are missing on this machine.
std::vector<std::string> missing_here(const plan::QuietWait& wait) {
  machine::Calm calm({static_cast<unsigned>(std::max(sched_getcpu(), 0))},
                     {.load = wait.load,
                      .temperature_c = wait.temperature_c,
                      .frequency_khz = wait.frequency_khz});
  calm.begin();
  static_cast<void>(calm.end(std::chrono::seconds(1)));
  return calm.missing();
}

}  // namespace

std::vector<std::string> wait_lines(const plan::Plan& plan) {
  if (!plan.wait_for_quiet) return {};
  const plan::QuietWait& wait = *plan.wait_for_quiet;
  std::string line = fmt::format(
      "before each block, trials wait up to {} for a quiet machine: other programs use at most "
      "{:g} % of the CPUs",
      format_duration(wait.most), 100 * wait.load);
  if (wait.temperature_c) line += fmt::format(", at most {:g} C", *wait.temperature_c);
  if (wait.frequency_khz) line += fmt::format(", at least {:g} kHz", *wait.frequency_khz);
  std::vector<std::string> lines{line};
  for (const std::string& each : missing_here(wait))
    lines.push_back("  warning: trials cannot wait for a quiet machine here: " + each);
  return lines;
}

nlohmann::ordered_json wait_json(const plan::Plan& plan) {
  if (!plan.wait_for_quiet) return nullptr;
  const plan::QuietWait& wait = *plan.wait_for_quiet;
  return {{"most_ns", wait.most.count()},
          {"load", wait.load},
          {"temperature_c", report::or_null(wait.temperature_c)},
          {"frequency_khz", report::or_null(wait.frequency_khz)},
          {"absent_here", missing_here(wait)}};
}

}  // namespace stab::client
