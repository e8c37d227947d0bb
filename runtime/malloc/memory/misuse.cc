// SPDX-License-Identifier: MIT
#include "runtime/malloc/memory/misuse.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/malloc/memory/lock.h"

extern "C" [[noreturn]] void abort() noexcept;

namespace stab::heap {
namespace {

__thread const char* noted __attribute__((tls_model("initial-exec")));

}  // namespace

void damaged(const char* why) {
  STAB_DEBUG(Misuse, 1, locks_held() == 0);
  os::write_all(2, "stabilizer: the heap is damaged: ", 33);
  os::write_all(2, why, rt::length_of(why));
  os::write_all(2, "\n", 1);
  abort();
}

void note_damage(const char* why) {
  noted = why;
}

// The program's handler of SIGABRT may misuse the heap again; only the first reason is written.
void end_if_damaged() {
  if (__builtin_expect(noted == nullptr, 1)) return;
  const char* why = noted;
  noted = nullptr;
  damaged(why);
}

}  // namespace stab::heap
