// SPDX-License-Identifier: MIT
#include "runtime/malloc/misuse.h"

#include "runtime/memory.h"
#include "runtime/os.h"

extern "C" [[noreturn]] void abort() noexcept;

namespace stab::heap {

void damaged(const char* why) {
  os::write_all(2, "stabilizer: the heap is damaged: ", 33);
  os::write_all(2, why, rt::length_of(why));
  os::write_all(2, "\n", 1);
  abort();
}

}  // namespace stab::heap
