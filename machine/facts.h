// SPDX-License-Identifier: MIT
// Facts about this machine that stay the same until somebody changes them; load and current
// frequency are not among them.
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

// Never fails: a fact that can't be read is absent. `root` is a prefix for /proc, /sys and /etc,
// for tests.
Facts read_facts(const Topology& topology, const std::string& root = "");

}  // namespace stab::machine
