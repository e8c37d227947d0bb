// SPDX-License-Identifier: MIT
// Whether this process may change the settings of its machine, and how one is changed that it may not.
#pragma once

#include <string>

namespace stab::machine {

// Each is a greater obstacle than the one before.
enum class Access {
  allowed,
  others,     // those with other rights, as root is where this process is not
  nobody,     // this is root, without the rights of the machine's, as in a user namespace
  read_only,  // nobody in here: it is mounted so, as in a container
};

// To write this file.
Access access_to(const std::string& path);

// The command as a user of these rights enters it.
std::string as_root(const std::string& command);

// How the file, which lies below `root` in tests, gets this value. In `command` for one that does it here.
std::string way_to_set(const std::string& file, const std::string& value, const std::string& root,
                       const std::string& command = "");

}  // namespace stab::machine
