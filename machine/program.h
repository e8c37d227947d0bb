// SPDX-License-Identifier: MIT
// Finds the file that a command's first word names, and says what that file can't do.
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

// Why szc's runtime cannot move this program's functions, whoever built it: "the program is linked
// statically, ..."; "" if nothing in the file is in the way.
std::string why_in_place(const std::string& program);

// The same, if not even a library can be loaded into the program.
std::string why_no_library(const std::string& program);

// Whether szc linked the program with its runtime.
bool has_szc_note(const std::string& program);

}  // namespace stab::machine
