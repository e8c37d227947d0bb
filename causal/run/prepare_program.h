// SPDX-License-Identifier: MIT
// Prepares the program that is to be profiled: checks that it can be, and finds which code belongs
// to which line.
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

// Looks near this process's own executable, in a build tree or an installation.
Result<Companions> find_companions();

struct Program {
  std::string path;
  std::shared_ptr<const LineMap> map;  // has at least one range
};

struct Wanted {
  std::string word;                        // a path, or a name that is looked for in PATH
  std::vector<std::string> scope{};        // patterns of source files
  std::vector<std::string> binaries{};     // patterns of files whose lines count, too
  std::string directory{};                 // where it runs; "": our directory
  std::vector<std::string> environment{};  // its environment; empty: ours
  // Without a scope, the scope is the source files below this folder, or all but /usr if there are
  // none.
  std::string below{};  // "": the current directory
  std::string tree{};   // a folder to leave out of the names of lines, or ""
};

// Prepares programs one after the other. It does not read debug information again unless one of
// its files has changed.
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
