// SPDX-License-Identifier: MIT
// The command that szc becomes: clang with our flags before the user's, so that the user's win.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "instrumenter/driver/arguments.h"
#include "instrumenter/driver/companions.h"

namespace stab::driver {

// How szc speaks to ld.stab through clang. Users may set all but the last two themselves, for
// builds that lose flags on the way.
namespace variable {
inline constexpr const char* off = "STAB_OFF";
inline constexpr const char* strict = "STAB_STRICT";
inline constexpr const char* quiet = "STAB_QUIET";
inline constexpr const char* link_order = "STAB_LINK_ORDER";
inline constexpr const char* link_padding = "STAB_LINK_PADDING";
inline constexpr const char* clang = "STAB_CLANG";
inline constexpr const char* linker = "STAB_LD_LINKER";     // the linker that the user chose
inline constexpr const char* used_clang = "STAB_LD_CLANG";  // the clang that calls ld.stab
}  // namespace variable

struct Command {
  Words words;                                     // words[0] is the program's path
  std::map<std::string, std::string> environment;  // to be set; an empty value: to be removed
  std::string note;                                // for the user, "" if there is nothing to say
};

// clang: from find_clang. The values of `arguments.own` win over the environment. Reads the file
// system only to find a linker that the user chose.
Result<Command> make_command(const Arguments& arguments, const Words& clang,
                             const Companions& companions, bool off);

// "NAME=value ... 'word' ...", for the eyes and for a shell.
std::string to_shell(const Command& command);

}  // namespace stab::driver
