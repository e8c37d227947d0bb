// SPDX-License-Identifier: MIT
// The build of a revision in its own folder.
#pragma once

#include <map>
#include <string>

#include "base/error.h"

namespace stab::client::ab {

struct BuildOf {
  std::string command;  // for /bin/sh
  int stop_fd = -1;     // when it becomes readable the build is ended
  std::map<std::string, std::string> variables;
};

// In the folder. The error has the end of what the build printed, all of which goes to the file
// `log`.
Result<void> build_in(const std::string& folder, const std::string& log, const BuildOf& build);

}  // namespace stab::client::ab
