// SPDX-License-Identifier: MIT
// `stabctl demo`: one program linked in two orders, first in fixed layouts, then in random ones.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace stab::client::ab {

struct DemoOptions {
  std::uint64_t seed = 1;
  bool json = false;
};

// Takes about 20 seconds. It prints what this machine shows, even if that is nothing; the exit code
// is 0 then, too. An error if the program can't be built by the szc beside stabctl, or can't run.
Result<int> demonstrate(const DemoOptions& options);

}  // namespace stab::client::ab
