// SPDX-License-Identifier: MIT
// Finds the other parts of szc, the compiler that it calls, and the pass that this compiler loads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "instrumenter/driver/process.h"

namespace stab::driver {

// Our programs and libraries. They are found relative to the running program, so that a build tree,
// an installed copy and a symbolic link to either work in the same way. A member is "" if the part
// is missing.
struct Companions {
  std::string linker;      // ld.stab
  std::string lld_folder;  // gcc is given this folder, where it finds ld.stab under the name ld.lld
  std::string postlink;    // stab-link
  std::string runtime;     // stab-runtime.o, linked into executables
  std::string library;     // stab-library.o, linked into shared libraries
  std::string passes;      // the folder of stab-pass-22.so and so on, one for each LLVM
  std::string include;     // the directory of stabilizer.h
  std::string sources;     // the pass's sources, for compilers that are added
};

// Returns the path itself if it leads nowhere.
std::string real_path(const std::filesystem::path& path);

// `program` is the real path of szc or of ld.stab.
Companions find_companions(const std::string& program);

// The real path of the running program. `argv0` is used if /proc is not mounted.
std::string running_program(const std::string& argv0);

// Returns the words that start the compiler (clang++ or g++ if `cxx`). `choice` is a program, or a
// command such as "ccache clang-22"; if it is empty, clang-22 and clang are tried. Fails if the
// program is szc, or if it is the one that started this szc, because compiling would never end.
// Records the compiler in the environment for any szc that it starts.
Result<Words> find_compiler(std::string_view choice, bool cxx);

// The compiler itself among the words that find_compiler() returned.
const std::string& program_of(const Words& compiler);

// The executable file that the shell would start, or "" if there is none.
std::string search_path(std::string_view name);

// Returns what the program answers to a question such as -dumpmachine, without the last newline, or
// "" if it fails.
std::string answer_of(const std::string& program, const char* question);

// Returns ld.lld of the same LLVM as this clang, or else one from PATH, or "" if there is none.
std::string find_lld(const std::string& clang);

// Only lld's output can be processed. A linker is lld if its name, or the name of the file that it
// leads to, says so: a distribution's `ld` may be a link to lld.
bool is_lld(const std::string& linker);

// Identifies a compiler or linker, by the libraries of LLVM that it needs, or else by its answer to
// --version.
struct Identity {
  // gcc: any of its drivers, such as g++ and gfortran. unknown: the program did not answer.
  enum class Kind { unknown, llvm, gcc, other };
  Kind kind = Kind::unknown;
  unsigned llvm = 0;        // the major version of its LLVM
  bool is_release = false;  // it is a release of that LLVM, for which our passes are built
  std::string name;         // for people
};
Identity identify(const std::string& program);

// The pass that this compiler or linker can load: the pass that was added for it (see
// added_compilers()), or ours for that release of LLVM. It is "" if there is none, because a pass
// works only in the LLVM that it was built for.
std::string pass_for(const Companions& companions, const std::string& program,
                     const Identity& identity);

// pass_of_version() returns our pass for this version of LLVM, or "" if there is none;
// pass_versions() returns the versions that have a pass.
std::string pass_of_version(const Companions& companions, unsigned llvm);
std::vector<unsigned> pass_versions(const Companions& companions);
// "clang 16, 19 or 22".
std::string versions_with_pass(const Companions& companions);

// The user's own compilers that got a pass: `szc --stab-add-compiler CLANG` builds the pass from
// its sources against the compiler's LLVM. The pass is kept in ~/.local/share/stabd/passes, under
// the hash of the program's real path, beside notes of three lines: the path; the program's size,
// its time of change and its version; and the same facts about szc's post-link step, which reads
// what the pass writes. After any of these has changed, the compiler has no pass until it is added
// again. The folder is read only if nobody else can write to it.

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
