// SPDX-License-Identifier: MIT
// Compilers of the user's own that got a pass: `szc --stab-add-compiler CLANG` builds the pass from its
// sources against the compiler's LLVM. It is kept in ~/.local/share/stabd/passes, under the hash of the
// program's real path, beside notes of three lines: the path; the program's size, its time of change and
// its version; the same of szc's post-link step, which reads what the pass writes. After any of them has
// changed, the compiler has no pass until it is added again. The folder is read only if nobody else can
// write to it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "instrumenter/driver/companions.h"

namespace stab::driver {

// "" if none was added for this program as it is now.
std::string added_pass(const Companions& companions, const std::string& program,
                       const Identity& identity);

// Whether this clang loads a pass of ours that was built for its version. One that was built with
// assertions, or otherwise than the distribution's, may have the same version and does not. It is tried
// once; the answer is kept beside the passes.
bool loads(const std::string& program, const Identity& identity, const std::string& pass);

struct Added {
  std::string compiler;  // its real path
  std::string pass;      // the file
  bool changed = false;  // the compiler is no longer the one that it was built for, or gone
};
// All of them, ordered by their compilers' paths.
std::vector<Added> added_compilers(const Companions& companions);

// Builds, tries and keeps the pass. Says what was done.
Result<std::string> add_compiler(const std::string& choice, const Companions& companions);

}  // namespace stab::driver
