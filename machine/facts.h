// SPDX-License-Identifier: MIT
// What this machine is, as far as it stays so until somebody changes it: not its load, nor the
// frequency of the moment.
#pragma once

#include <string>

#include "base/error.h"
#include "machine/topology.h"

namespace stab::machine {

struct Facts {
  std::string host{};
  // A JSON object with sorted keys, on one line. A fact that cannot be read is {"absent": reason}.
  // Equal machines in equal states give equal texts.
  std::string facts_json{};
  std::string key{};      // SHA-256 of facts_json
  std::string summary{};  // one line for people
};

// Never fails: what cannot be read is absent. `root` stands before /proc, /sys and /etc, for tests.
Facts read_facts(const Topology& topology, const std::string& root = "");

}  // namespace stab::machine
