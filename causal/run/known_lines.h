// SPDX-License-Identifier: MIT
// Line maps of programs that are run again and again. To read one takes a process and may take seconds.
//
// Invariants
//  K1  A map is given only while each file that decided it is in the state in which it was read. Files
//      that were looked for and were missing are among them.
//  K2  What is kept has at most the entries and records of the limits. The map that was used the
//      longest ago goes first.
// One thread uses it.
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

  // The map of this key, which has all that decides it beside files. Of an error nothing is kept.
  Result<std::shared_ptr<const LineMap>> find(const std::vector<std::string>& key,
                                              const std::function<Result<LineMap>()>& read);

 private:
  struct Entry {
    std::vector<std::string> key;
    std::shared_ptr<const LineMap> map;
  };
  void keep(Entry entry, std::size_t records);

  Limits limits_;
  std::list<Entry> entries_;  // the one that was used last is at the end
  std::size_t records_ = 0;
};

}  // namespace stab::causal
