// SPDX-License-Identifier: MIT
// Where the parts are: found relative to the running program, so that a build tree, an installed
// copy and a symbolic link to either work alike.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "instrumenter/driver/response_file.h"

namespace stab::driver {

// The programs and libraries of ours; "" for one that is not there.
struct Companions {
  std::string linker;      // ld.stab
  std::string lld_folder;  // where gcc, which is told folders, finds it by the name of ld.lld
  std::string postlink;    // stab-link
  std::string runtime;     // stab-runtime.o, linked into executables
  std::string library;     // stab-library.o, linked into shared libraries
  std::string passes;      // the folder of stab-pass-19.so and its like, one for each LLVM
  std::string include;     // the directory of stabilizer.h
  std::string sources;     // the pass's, for compilers that are added
};

// The path itself if it leads nowhere.
std::string real_path(const std::filesystem::path& path);

// `program` is the real path of szc or of ld.stab.
Companions find_companions(const std::string& program);

// The real path of the running program; `argv0` serves where /proc is not mounted.
std::string running_program(const std::string& argv0);

// The words that start the compiler (clang++ or g++ if `cxx`). `choice` is a program, or a command
// such as "ccache clang-19"; if it is empty, clang-19 and clang are tried. Fails if the program is szc, or
// if it is what started this szc: that would never end. Tells the szcs that it starts of it.
Result<Words> find_compiler(std::string_view choice, bool cxx);

// The executable file that the shell would start, "" if there is none.
std::string search_path(std::string_view name);

// ld.lld of the same LLVM as this clang, else one from PATH, "" if there is none.
std::string find_lld(const std::string& clang);

// What a compiler or linker is by its own account: the libraries of LLVM that it needs, or else what
// it answers to --version.
struct Identity {
  // gcc: any of its drivers, such as g++ and gfortran. unknown: it did not answer.
  enum class Kind { unknown, llvm, gcc, other };
  Kind kind = Kind::unknown;
  unsigned llvm = 0;        // the major version of its LLVM
  bool is_release = false;  // of that LLVM, for which ours are built
  std::string name;         // for people
};
Identity identify(const std::string& program);

// The pass that this compiler or linker can load: the one that was added for it (added_compilers.h), or
// ours for that release of LLVM. "" if there is none: a pass works only in the LLVM that it was built
// for.
std::string pass_for(const Companions& companions, const std::string& program,
                     const Identity& identity);

// Ours for this version of LLVM, "" if there is none; and the versions that have one.
std::string pass_of_version(const Companions& companions, unsigned llvm);
std::vector<unsigned> pass_versions(const Companions& companions);
// "clang 16, 19 or 22".
std::string versions_with_pass(const Companions& companions);

}  // namespace stab::driver
