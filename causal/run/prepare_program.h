// SPDX-License-Identifier: MIT
// Prepares the program that is to be profiled: checks that it can be, and finds which code belongs
// to which line, as stab-lines prints it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "causal/lines/line_map.h"

namespace stab::causal {

// Limits for the output of stab-lines.
inline constexpr std::size_t most_map_bytes = std::size_t{1} << 30;
inline constexpr std::size_t most_lines = 4'000'000;
inline constexpr std::size_t most_objects = 10'000;

// Reads the output of stab-lines, which may be any bytes. The ranges of the result ascend, do not
// overlap, and refer to its lines.
Result<LineMap> parse_map(std::string_view text);

// Finds "FILE:LINE", where FILE may be the end of a path. The error names the nearest line with
// code.
Result<std::uint32_t> find_line(const LineMap& map, std::string_view name);

// Keeps the line maps of programs that are run again and again. Reading a map takes a process and
// may take seconds.
//
// Invariants
//  K1  A map is returned only while each file that decided it is in the state in which it was read.
//      Files that were looked for and were missing count, too.
//  K2  The kept maps never exceed the limits. The map whose last use was longest ago goes first.
// Only one thread may use it.
class KnownLines {
 public:
  struct Limits {
    std::size_t maps = 64;
    std::size_t records = 16'000'000;  // ranges, lines and files of all maps: some 300 MB
  };

  KnownLines() : KnownLines(Limits{}) {}
  explicit KnownLines(Limits limits) : limits_(limits) {}

  // Returns the map of this key, which must contain everything that decides the map besides files.
  // Errors are not kept.
  Result<std::shared_ptr<const LineMap>> find(const std::vector<std::string>& key,
                                              const std::function<Result<LineMap>()>& read);

 private:
  struct Entry {
    std::vector<std::string> key;
    std::shared_ptr<const LineMap> map;
  };
  void keep(Entry entry, std::size_t records);

  Limits limits_;
  std::list<Entry> entries_;  // the last one used is at the end
  std::size_t records_ = 0;
};

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
