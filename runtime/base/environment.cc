// SPDX-License-Identifier: MIT
#include "runtime/base/environment.h"

#include <errno.h>
#include <sys/auxv.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"

// The dynamic linker's: where the kernel put the arguments.
extern "C" void* __libc_stack_end;

namespace stab::rt {
namespace {

// What the kernel said, for the words behind the environment cannot be trusted: where ld.so takes
// variables from such a program they are no longer where the environment ends.
bool runs_with_more_rights() {
  const int before = errno;
  errno = 0;
  const bool secure = getauxval(AT_SECURE) != 0 || errno != 0;
  errno = before;
  return secure;
}

}  // namespace

const char* options_text(char** environment) {
  constexpr char name[] = "STABILIZER_OPTIONS=";
  if (runs_with_more_rights()) return nullptr;
  for (; *environment != nullptr; ++environment)
    if (equal(*environment, name, sizeof name - 1)) return *environment + sizeof name - 1;
  return nullptr;
}

char** initial_environment() {
  auto** words = static_cast<char**>(__libc_stack_end);
  const auto arguments = reinterpret_cast<uint64_t>(words[0]);
  return words + 1 + arguments + 1;
}

uint64_t run_seed(const Options& options) {
  static uint64_t drawn;
  static bool is_drawn;
  if (options.seed_given) return options.seed;
  if (is_drawn) return drawn;
  if (os::random_bytes(&drawn, sizeof drawn) != sizeof drawn)
    drawn = os::monotonic_ns() ^ static_cast<uint64_t>(os::process_id()) << 40;
  is_drawn = true;
  return drawn;
}

}  // namespace stab::rt
