// SPDX-License-Identifier: MIT
// How an experiment lies in a database by itself. Throws Refused.
//
// Invariants
//  P1  The row with the id 1 is the experiment's. It and each row behind it is a part: its trials,
//      builds and events are the experiment's, behind those of the part before.
//  P2  An archive has one part.
#pragma once

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "store/store.h"

namespace stab::archive {

struct Refused : std::runtime_error {
  explicit Refused(const std::string& why, bool passes = false)
      : std::runtime_error(why), temporary(passes) {}
  bool temporary;  // as in StoreError
};

[[noreturn]] inline void refuse(const std::string& why) {
  throw Refused(why);
}

template <class T>
T value_of(store::Outcome<T> outcome) {
  if (!outcome) throw Refused(outcome.error().message, outcome.error().temporary);
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

// Of a part.
struct Most {
  std::size_t trials = std::numeric_limits<std::size_t>::max();
  std::size_t others = std::numeric_limits<std::size_t>::max();  // builds, and events
  // Of texts, of each of the three together. A row that has more is a part by itself.
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
};

inline constexpr store::Id whole = 1;

// The machine of `from` and what calibrations found on it. What is known in `to` stays as it is.
store::Id copy_machine(store::Reader& from, store::Id machine, store::Store& to);

}  // namespace stab::archive
