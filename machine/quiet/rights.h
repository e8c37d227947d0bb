// SPDX-License-Identifier: MIT
// Tells whether this process may change the machine's settings, and if not, how the user can change
// them.
#pragma once

#include <string>

namespace stab::machine {

// In the order of increasing obstacles.
enum class Access {
  allowed,
  others,     // only processes with other rights may, usually root's
  nobody,     // we are root, but without the rights of the machine's root, as in a user namespace
  read_only,  // it is mounted read-only, as in a container
};

// The right to write this file.
Access access_to(const std::string& path);

// The command, with sudo if we are not root.
std::string as_root(const std::string& command);

// Tells the user how to set the file, which is below `root` in tests, to this value. `command` is a
// command that does that, or "".
std::string way_to_set(const std::string& file, const std::string& value, const std::string& root,
                       const std::string& command = "");

}  // namespace stab::machine
