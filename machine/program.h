// SPDX-License-Identifier: MIT
// Finds the file that a command's first word names, and says what that file can't do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace stab::machine {

// A word with a slash is a path relative to `directory`. Any other word is searched in the PATH of
// `environment` ("NAME=value"). The returned path is valid for exec after chdir to `directory`. The
// error says where the program was searched.
Result<std::string> find_program(std::string_view word, const std::vector<std::string>& environment,
                                 std::string_view directory);

// The rights that the program would gain when executed, but that no_new_privs refuses to it: "is
// setuid to user 0"; "" if it would gain no rights.
std::string refused_rights(const std::string& program);

// Why szc's runtime cannot move this program's functions, whoever built it: "the program is linked
// statically, ..."; "" if the file does not prevent it.
std::string why_in_place(const std::string& program);

// The same reason, but only if not even a library can be loaded into the program; else "".
std::string why_no_library(const std::string& program);

// Whether szc linked the program with its runtime.
bool has_szc_note(const std::string& program);

}  // namespace stab::machine
