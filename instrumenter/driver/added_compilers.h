// SPDX-License-Identifier: MIT
// The user's own compilers that got a pass: `szc --stab-add-compiler CLANG` builds the pass from
// its sources against the compiler's LLVM. The pass is kept in ~/.local/share/stabd/passes, under
// the hash of the program's real path, beside notes of three lines: the path; the program's size,
// its time of change and its version; and the same facts about szc's post-link step, which reads
// what the pass writes. After any of these has changed, the compiler has no pass until it is added
// again. The folder is read only if nobody else can write to it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "instrumenter/driver/companions.h"

namespace stab::driver {

// Returns "" if no pass was added for this program as it is now.
std::string added_pass(const Companions& companions, const std::string& program,
                       const Identity& identity);

// Whether this clang loads our pass for its version. A clang that was built with assertions, or
// otherwise than the distribution's, may have the same version and fail to load it. It is tried
// once, and the answer is kept beside the passes.
bool loads(const std::string& program, const Identity& identity, const std::string& pass);

struct Added {
  std::string compiler;  // its real path
  std::string pass;      // the pass's file
  // The compiler or szc's post-link step has changed since the pass was built, or the compiler is
  // gone.
  bool changed = false;
};
// Returns all of them, ordered by their compilers' paths.
std::vector<Added> added_compilers(const Companions& companions);

// Builds, tries and keeps the pass. Returns a sentence for the user about what was done.
Result<std::string> add_compiler(const std::string& choice, const Companions& companions);

}  // namespace stab::driver
