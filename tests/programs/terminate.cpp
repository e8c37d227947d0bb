// SPDX-License-Identifier: MIT
// An exception that must not leave: the process ends by SIGABRT.
// variants: -O0 | -O2
#include <cstdio>
#include <cstdlib>
#include <exception>

[[gnu::noinline]] static void thrower() { throw 1; }
[[gnu::noinline]] static void promise() noexcept { thrower(); }
int main() {
  std::set_terminate([] {
    std::puts("terminated");
    std::fflush(stdout);
    std::abort();
  });
  try {
    promise();
  } catch (int) {
    std::puts("caught");
  }
  return 0;
}
