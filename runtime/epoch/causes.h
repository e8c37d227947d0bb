// SPDX-License-Identifier: MIT
// The function or library that the report names as the cause of something. A cause holds a copy of
// the name, because its owner may be unmapped.
#pragma once

#include "runtime/abi/abi.h"

namespace stab::rt {

class Cause {
 public:
  // The first one stays.
  void set(const char* name);
  // nullptr: there is none.
  [[nodiscard]] const char* text() const { return text_[0] == '\0' ? nullptr : text_; }

 private:
  static constexpr uint32_t longest = 160;
  char text_[longest];
};

extern Cause layouts_stay_for;
extern Cause pads_small_for;

// The first function of the table that hides addresses of code; nullptr: there is none.
const char* first_hider(const abi::Header& table);
// The first of them that makes stacks or switches to them; nullptr: there is none.
const char* first_with_stacks(const abi::Header& table);

}  // namespace stab::rt
