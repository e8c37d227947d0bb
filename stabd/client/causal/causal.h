// SPDX-License-Identifier: MIT
// 'stabctl causal': which line to make faster, from profiles that there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::client::causal {

struct CausalOptions {
  std::vector<std::string> read{};  // files in coz's format; all are runs of one program
  std::string coz{};                // file to write all of them to; "": none, "-": stdout
  double alpha = 0.05;
  std::uint64_t seed = 1;
  bool json = false;
};

Result<int> show_causal(const CausalOptions& options);

}  // namespace stab::client::causal
