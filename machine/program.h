// SPDX-License-Identifier: MIT
// Finds the file that a command's first word names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace stab::machine {

// A word with a slash is a path from `directory`; another one is searched in the PATH of
// `environment` ("NAME=value"). The result is a path that exec takes after chdir to `directory`.
// The error says where it was looked for.
Result<std::string> find_program(std::string_view word, const std::vector<std::string>& environment,
                                 std::string_view directory);

// What the program would gain by being executed, and we may not gain (no_new_privs): "is setuid to
// user 0"; "" if nothing.
std::string refused_rights(const std::string& program);

}  // namespace stab::machine
