// SPDX-License-Identifier: MIT
// The program that is to be profiled, before it runs: can it be, and which code is which line.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "causal/lines/line_map.h"
#include "causal/run/known_lines.h"

namespace stab::causal {

struct Companions {
  std::string lines;    // stab-lines
  std::string library;  // libstabcausal.so
};

// By this process's own place: in a build tree and where they are installed.
Result<Companions> find_companions();

struct Program {
  std::string path;
  std::shared_ptr<const LineMap> map;  // has a range
};

struct Wanted {
  std::string word;                        // a path, or a name that is looked for in PATH
  std::vector<std::string> scope{};        // patterns of source files
  std::vector<std::string> binaries{};     // patterns of files whose lines are looked at, too
  std::string directory{};                 // in which it runs; "": ours
  std::vector<std::string> environment{};  // that it has; empty: ours
  // Without a scope it is the source files below this folder, or, if there are none, all but /usr.
  std::string below{};  // "": the current directory
  std::string tree{};   // a folder that the names of lines leave out; or ""
};

// Prepares programs one after the other. Debug information that was read is not read again for the next
// run, unless a file of it has changed.
class Programs {
 public:
  explicit Programs(Companions companions) : companions_(std::move(companions)) {}

  // Each error says what to change.
  Result<Program> prepare(const Wanted& wanted);
  [[nodiscard]] const std::string& library() const { return companions_.library; }

 private:
  Companions companions_;
  KnownLines known_;
};

}  // namespace stab::causal
