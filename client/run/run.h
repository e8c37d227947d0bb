// SPDX-License-Identifier: MIT
// Measures a plan with a daemon of its own, which ends with this process.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/plan_file.h"
#include "client/verbs.h"

namespace stab::client {

struct Ran {
  std::string state;  // the folder of its database
  std::int64_t id = 0;
  int signal = 0;  // the signal that paused it; 0: it has ended
};

// The file need not exist, because its path is only for messages. Shows progress on stderr.
Result<Ran> run_to_end(const PlanFile& file, const RunOptions& options);

}  // namespace stab::client
