// SPDX-License-Identifier: MIT
// `stabctl demo`: compares two link orders of one program, both in fixed and in random layouts.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace stab::client::ab {

struct DemoOptions {
  std::uint64_t seed = 1;
  bool json = false;
};

// Takes about 20 seconds. Prints what this machine shows and returns 0, even if the orders do not
// differ. Fails if szc can't build the program, or the program can't run.
Result<int> demonstrate(const DemoOptions& options);

}  // namespace stab::client::ab
