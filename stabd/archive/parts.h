// SPDX-License-Identifier: MIT
// The form of an experiment in a database of its own. The functions throw Refused.
//
// Invariants
//  P1  The row with the id 1 is the experiment. This row and each row after it stands for a part,
//      whose trials, builds and events belong to the experiment and follow those of the previous
//      part.
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
  bool temporary;  // see StoreError
};

[[noreturn]] inline void refuse(const std::string& why) {
  throw Refused(why);
}

template <class T>
T value_of(store::Outcome<T> outcome) {
  if (!outcome) throw Refused(outcome.error().message, outcome.error().temporary);
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

// The limits of a part.
struct Most {
  std::size_t trials = std::numeric_limits<std::size_t>::max();
  std::size_t others = std::numeric_limits<std::size_t>::max();  // for builds and for events
  // The bytes of texts, for trials, builds and events separately. A larger row is a part by itself.
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
};

inline constexpr store::Id whole = 1;

// Copies the machine and its calibrations. Rows that `to` has already stay as they are.
store::Id copy_machine(store::Reader& from, store::Id machine, store::Store& to);

}  // namespace stab::archive
