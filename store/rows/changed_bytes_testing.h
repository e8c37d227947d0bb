// SPDX-License-Identifier: MIT
// For tests: feeds the store's readers texts with changed bytes.
#pragma once

#include <string>

#include "base/random.h"
#include "store/exceptions.h"

namespace stab::store {

// Changes one byte at a time to any other. `read` must accept the text or throw Failure.
template <class Read>
void read_with_changed_bytes(const std::string& whole, Read read) {
  Random random(9);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    text[random.below(text.size())] = static_cast<char>(random.below(256));
    try {
      read(text);
    } catch (const Failure&) {
    }
  }
}

}  // namespace stab::store
