// SPDX-License-Identifier: MIT
// Compilers of the user's own that got a pass: `szc --stab-add-compiler CLANG` builds the pass from its
// sources against the compiler's LLVM. It is kept in $XDG_DATA_HOME/stabd/passes, under the hash of the
// program's real path, beside a file that says which program it was: `path`, then its size and time of
// change. A compiler that was built anew since has no pass until it is added again.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "instrumenter/driver/companions.h"

namespace stab::driver {

// "" if none was added for this program as it is now.
std::string added_pass(const std::string& program);

struct Added {
  std::string compiler;  // its real path
  std::string pass;      // the file
  bool changed = false;  // the compiler is no longer the one that it was built for, or gone
};
// By their compilers' paths.
std::vector<Added> added_compilers();

// Builds, tries and keeps the pass. Says what was done.
Result<std::string> add_compiler(const std::string& choice, const Companions& companions);

}  // namespace stab::driver
