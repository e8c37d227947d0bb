// SPDX-License-Identifier: MIT
#include "runtime/check.h"

#include "runtime/memory.h"
#include "runtime/os.h"

namespace stab::rt {

__attribute__((noinline, cold)) void check_failed(const char* what) {
  os::write_all(2, what, length_of(what));
  __builtin_trap();
}

}  // namespace stab::rt
