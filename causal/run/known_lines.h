// SPDX-License-Identifier: MIT
// Keeps the line maps of programs that are run again and again. Reading a map takes a process and
// may take seconds.
//
// Invariants
//  K1  A map is returned only while each file that decided it is in the state in which it was read.
//      Files that were looked for and were missing count, too.
//  K2  The kept maps never exceed the limits. The map whose last use was longest ago goes first.
// Only one thread may use it.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "causal/lines/line_map.h"

namespace stab::causal {

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

}  // namespace stab::causal
