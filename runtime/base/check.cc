// SPDX-License-Identifier: MIT
#include "runtime/base/check.h"

#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {

__attribute__((noinline, cold)) void check_failed(const char* what) {
  os::write_all(2, what, length_of(what));
  __builtin_trap();
}

}  // namespace stab::rt
