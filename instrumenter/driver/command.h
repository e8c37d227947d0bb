// SPDX-License-Identifier: MIT
// szc's command line, and the command that it becomes. szc knows only some facts about its command
// line. Everything else is clang's business: clang itself decides the phases, and calls our linker
// wrapper (ld_main.cc) if and only if it links.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "instrumenter/driver/compilers.h"
#include "instrumenter/driver/process.h"

namespace stab::driver {

enum class Action { compile, help, version, explain, add_compiler, compilers };

// Our own flags, all of which start with --stab-.
struct OwnFlags {
  Action action = Action::compile;
  bool off = false;     // plain clang with the same code generation: the baseline
  bool strict = false;  // a binary that cannot be randomized is an error
  bool quiet = false;   // no notes
  bool print = false;   // show what would run, and run nothing
  bool json = false;
  std::string named;  // the binary for --stab-explain, or the clang for --stab-add-compiler
  std::optional<std::uint64_t> link_order;
  std::optional<std::uint64_t> link_padding;
  std::string compiler;  // clang or gcc; "" if not given
  std::string stack;     // the kind of pads as it was given (stack_mode); "" if not given
};

struct Arguments {
  OwnFlags own;
  Words clang;     // clang's arguments: all except our own flags and --ld-path, in the order given
  Words expanded;  // the same, with response files replaced by their words
  std::string linker;           // the value of the last -fuse-ld=, "" if there is none
  std::string ld_path;          // the value of the last --ld-path=
  Words prefixes;               // the values of -B, which are where clang looks for linkers
  std::string target;           // the value of --target= or -target, "" if there is none
  bool lto = false;             // full or thin: code is made when linking
  bool bitcode = false;         // -emit-llvm: code is made by a later command
  bool embeds_bitcode = false;  // -fembed-bitcode
  bool verbatim = false;        // not the ordinary driver (-cc1, another driver mode): add nothing
  bool links = false;           // there is an input, and no flag that stops before the linker
};

// Takes the arguments without the program's name. Fails on a flag of ours that does not exist or
// lacks its value.
Result<Arguments> parse_arguments(const Words& arguments);

// How frames get pads, according to these flags and STAB_STACK: frame, table or off; "" if neither
// says so. The mode byte was removed: builds that still ask for it get frame.
std::string stack_mode(const OwnFlags& own);

// The little that szc knows of clang's options; tests/driver/clang_test.sh compares it with clang.

// Options whose value is the next argument: what follows them is no input and no flag.
std::span<const std::string_view> options_with_next();

// After one of these clang does not link (-c, -E, --version, ...).
bool stops_before_link(std::string_view option);

// The command that szc becomes: clang or gcc, with our flags before the user's, so that the user's
// flags win.
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
