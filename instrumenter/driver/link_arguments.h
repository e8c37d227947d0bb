// SPDX-License-Identifier: MIT
// What ld.stab has to know of a linker's command line, as clang writes it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "instrumenter/driver/response_file.h"

namespace stab::driver {

// nothing: the linker was only asked something (--version); object: ld -r.
enum class Output { nothing, object, executable, library };

struct LinkArguments {
  Words words;                      // all of them, response files expanded
  std::vector<std::size_t> inputs;  // which of the words are files or -lNAME
  Words library_folders;            // of -L, in order
  Output kind = Output::nothing;
  std::string output = "a.out";
  std::string obstacle;  // why the output cannot be randomized, as a phrase; "" if it can
  bool thin_lto = false;
  bool unoptimized_code = false;  // --lto-CGO0: objects of a frame then lie in any order
  bool has_version_script = false;
  bool stack_is_decided = false;  // by -z execstack or -z noexecstack
  bool strip_all = false;
  bool strip_debug = false;
};

LinkArguments parse_link_arguments(const Words& arguments);

// A name that configure scripts and build systems give to what they link for a look only. A note on
// stderr can make them believe that a flag does not work.
bool is_probe(const std::string& output);

}  // namespace stab::driver
