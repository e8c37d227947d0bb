// SPDX-License-Identifier: MIT
// What of a stored trial the analysis looks at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "stats/data/dataset.h"
#include "store/reader.h"

namespace stab::results {

// `name`: analysis.response. Nothing: the trial has no such number.
std::optional<std::int64_t> response_of(const store::Trial& trial, const std::string& name);

// Integers as distances from the first one, which doubles hold exactly.
class Response {
 public:
  explicit Response(stats::Dataset& data) : data_(data) {}
  void append(std::optional<std::int64_t> value);

 private:
  stats::Dataset& data_;
  std::optional<std::int64_t> centre_;
};

// "sort opt=O2": the benchmark and its level of each treatment.
std::string cell_text(const plan::Plan& plan, const store::Trial& trial);

}  // namespace stab::results
