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
  int stop_fd = -1;     // a signalfd; builds end when it becomes readable
  std::map<std::string, std::string> variables;
};

// Builds in the folder. All output of the build goes to the file `log`, and the error has its end.
Result<void> build_in(const std::string& folder, const std::string& log, const BuildOf& build);

struct BuildPlace {
  std::string name;  // the version's name
  std::string folder;
  std::string log;
};

// Builds in all places, as many at a time as this process has CPUs. A build that fails ends the
// builds after it in the list; the error is that of the first failed build in the list.
Result<void> build_all(const std::vector<BuildPlace>& places, const BuildOf& build);

}  // namespace stab::client::ab
