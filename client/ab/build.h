// SPDX-License-Identifier: MIT
// Builds of revisions, each in its own folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::client::ab {

struct BuildOf {
  std::string command;  // for /bin/sh
  int stop_fd = -1;     // a signalfd: when it becomes readable builds are ended
  std::map<std::string, std::string> variables;
};

// In the folder. The error has the end of what the build printed, all of which goes to the file
// `log`.
Result<void> build_in(const std::string& folder, const std::string& log, const BuildOf& build);

struct BuildPlace {
  std::string name;  // of the version
  std::string folder;
  std::string log;
};

// All of them, as many at a time as this process has CPUs. One that fails ends those behind it; the
// error is that of the first that fails, by their order.
Result<void> build_all(const std::vector<BuildPlace>& places, const BuildOf& build);

}  // namespace stab::client::ab
