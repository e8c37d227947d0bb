// SPDX-License-Identifier: MIT
// A plan is measured here and now, by a daemon of our own.
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
  int signal = 0;  // that paused it; 0: it has come to its end
};

// The file need not exist; its path is for messages. Shows progress on stderr.
Result<Ran> run_to_end(const PlanFile& file, const RunOptions& options);

}  // namespace stab::client
