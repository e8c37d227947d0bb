// SPDX-License-Identifier: MIT
// The facts that ld.stab has to know about a linker's command line, as clang writes it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "instrumenter/driver/process.h"

namespace stab::driver {

// nothing: the linker was only asked for something (--version). object: ld -r.
enum class Output { nothing, object, executable, library };

struct LinkArguments {
  Words words;                      // all words, with response files expanded
  std::vector<std::size_t> inputs;  // which of the words are files or -lNAME
  Words library_folders;            // the values of -L, in order
  Output kind = Output::nothing;
  std::string output = "a.out";
  std::string obstacle;  // why the output cannot be randomized, as a phrase; "" if it can
  bool thin_lto = false;
  bool unoptimized_code = false;  // --lto-CGO0: objects in a stack frame then lie in any order
  std::string version_script;     // the last one's path; "" if there is none
  bool stack_is_decided = false;  // the command line has -z execstack or -z noexecstack
  bool strip_all = false;
  bool strip_debug = false;
  bool wants_relocations = false;  // --emit-relocs: the output keeps its relocations
  // The flags by which the user orders functions: one that wins over a random order, and one about
  // the order of a profile of calls. "" if the flag is not given.
  std::string fixed_order;
  std::string call_order;
};

LinkArguments parse_link_arguments(const Words& arguments);

// Whether configure scripts and build systems use this name for output that they link only as a
// test. A note on stderr can make them believe that a flag does not work.
bool is_probe(const std::string& output);

// Whether cargo itself runs or loads the output while it builds a program: a build script, or a
// library of procedural macros, whose version script lists a symbol that only such libraries have.
bool is_tool_of_cargo(const LinkArguments& link);

}  // namespace stab::driver
