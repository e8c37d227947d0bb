// SPDX-License-Identifier: MIT
// The command that szc becomes: clang or gcc, with our flags before the user's, so that the user's
// flags win.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "instrumenter/driver/arguments.h"
#include "instrumenter/driver/companions.h"
#include "instrumenter/driver/environment.h"

namespace stab::driver {

struct Command {
  Words words;                                     // words[0] is the program's path
  std::map<std::string, std::string> environment;  // to be set; "" removes the variable
  std::string note;                                // for the user; "" if there is no note
};

// `compiler` is the result of find_compiler. The values of `arguments.own` win over the
// environment. This reads the file system only to find a linker that the user chose.
Result<Command> make_command(const Arguments& arguments, const Words& compiler,
                             const Companions& companions, bool off);

// "NAME=value ... 'word' ...", for people and for a shell.
std::string to_shell(const Command& command);

}  // namespace stab::driver
