// SPDX-License-Identifier: MIT
// Where the parts are: found relative to the running program, so that a build tree, an installed
// copy and a symbolic link to either work alike.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "instrumenter/driver/response_file.h"

namespace stab::driver {

// The programs and libraries of ours; "" for one that is not there.
struct Companions {
  std::string linker;    // ld.stab
  std::string postlink;  // stab-link
  std::string runtime;   // stab-runtime.o, linked into executables
  std::string library;   // stab-library.o, linked into shared libraries
  std::string plugin;    // stab-pass.so
  std::string include;   // the directory of stabilizer.h
};

// `program` is the real path of szc or of ld.stab.
Companions find_companions(const std::string& program);

// The real path of the running program; `argv0` serves where /proc is not mounted.
std::string running_program(const std::string& argv0);

// The words that start clang (clang++ if `cxx`). `choice` is STAB_CLANG: a program, or a command
// such as "ccache clang-19"; if it is empty, clang-19 and clang are tried.
Result<Words> find_clang(std::string_view choice, bool cxx);

// The executable file that the shell would start, "" if there is none.
std::string search_path(std::string_view name);

// ld.lld of the same LLVM as this clang, else one from PATH, "" if there is none.
std::string find_lld(const std::string& clang);

// What a compiler or linker is by its own account: the libraries of LLVM that it needs, or else what
// it answers to --version.
struct Identity {
  enum class Kind { unknown, llvm, other };  // unknown: it did not answer
  Kind kind = Kind::unknown;
  unsigned llvm = 0;  // the major version of its LLVM
  std::string name;   // for people
};
Identity identify(const std::string& program);

// A pass plugin works in the LLVM that it was built for only.
bool loads_our_plugin(const std::string& program);

}  // namespace stab::driver
