// SPDX-License-Identifier: MIT
#include "stabd/results/response.h"

#include <fmt/format.h>

#include <limits>

#include "design/expand.h"

namespace stab::results {

std::optional<std::int64_t> response_of(const store::Trial& trial, const std::string& name) {
  if (name == "user") return trial.user_ns;
  if (name == "system") return trial.system_ns;
  if (name == "cpu") {
    if (!trial.user_ns || !trial.system_ns) return std::nullopt;
    return *trial.user_ns + *trial.system_ns;
  }
  if (name == "main_to_exit") return trial.layout.main_to_exit_ns;
  if (name == "region") return trial.layout.region_ns;
  if (name == "max_rss") return trial.max_rss_bytes;
  return trial.wall_ns;
}

void Response::append(std::optional<std::int64_t> value) {
  if (!value) {
    data_.response.push_back(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (!centre_) {
    centre_ = *value;
    data_.centre = static_cast<double>(*value);
  }
  data_.response.push_back(static_cast<double>(*value - *centre_));
}

std::string cell_text(const plan::Plan& plan, const store::Trial& trial) {
  std::string text = trial.benchmark;
  for (const std::size_t index : plan::treatments(plan)) {
    const auto level = trial.levels.find(plan.factors[index].name);
    if (level != trial.levels.end()) text += fmt::format(" {}={}", level->first, level->second);
  }
  return text;
}

}  // namespace stab::results
