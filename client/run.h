// SPDX-License-Identifier: MIT
// Measures a plan with a daemon of its own, which ends with this process, and writes its page.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "client/plan_file.h"
#include "client/run_folder.h"
#include "client/verbs.h"

namespace stab::client {

struct Ran {
  std::string state;  // the folder of its database
  std::int64_t id = 0;
  int signal = 0;  // the signal that paused it; 0: it has ended
};

// The file need not exist, because its path is only for messages. Shows progress on stderr.
Result<Ran> run_to_end(const PlanFile& file, const RunOptions& options);

// The user names the file of the report's page before the run. Fails if the file could not be
// written now, so that the user does not learn it after hours of measuring. Succeeds for "", which
// stands for no page.
Result<void> check_page(const std::string& path);

// Does nothing if `path` is "".
Result<void> write_page(const Analysed& analysed, const std::string& path);

}  // namespace stab::client
