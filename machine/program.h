// SPDX-License-Identifier: MIT
// Finds the file that a command's first word names, says what that file can't do, and builds the
// environment that a trial's program gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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

// Why the runtime of a program with szc's note cannot move its functions: "a tool such as patchelf
// has ..."; "" if the program has no such note, or if the note is as the post-link step left it.
std::string why_note_fails(const std::string& program);

// A trial's environment is built from scratch. Its size influences the layout because it moves the
// stack. So the size is always a whole number of pages plus the bytes that a plan asks for. A
// treatment that changes a variable does not change the size, unless the sum of all variables
// crosses a page.
inline constexpr std::size_t environment_unit = 4096;
// The variable that pads the environment. Programs see it, but it has no meaning.
inline constexpr const char* padding_variable = "STABD_PADDING";

// Returns "NAME=value" strings, sorted by name. Their sizes, including the terminating zeros, add
// up to a multiple of environment_unit plus `extra_bytes`.
std::vector<std::string> make_environment(std::map<std::string, std::string> variables,
                                          std::uint64_t extra_bytes);

// The variables of every trial and build, unless the plan changes them: PATH, HOME, USER, LANG and
// TMPDIR.
std::map<std::string, std::string> base_variables(std::uint32_t uid);

}  // namespace stab::machine
