// SPDX-License-Identifier: MIT
// A plan as the user names it.
#pragma once

#include <string>

#include "base/error.h"

namespace stab::client {

struct PlanFile {
  std::string path;       // as the user wrote it, for messages
  std::string directory;  // absolute
  std::string text;       // with the commits of the revisions that it names
};

// Says what is wrong with a missing, empty, binary or huge file.
Result<PlanFile> read_plan_file(const std::string& path);

}  // namespace stab::client
