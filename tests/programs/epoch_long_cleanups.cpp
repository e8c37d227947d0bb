// SPDX-License-Identifier: MIT
// Long pauses inside the unwinding of one exception: destructors that take 12 ms of CPU time between the phases and between
// frames, handlers that hold their exception as long before they pass it on, C cleanups, and the unwinding of pthread_exit.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <pthread.h>
#include <stdexcept>

static int cleanups;
struct Slow {
  explicit Slow(double t) : ms(t) {}
  ~Slow() { work_ms(ms); ++cleanups; }
  double ms;
};
[[gnu::noinline]] static int plain(int depth, int (*then)(int)) {
  int got = depth > 0 ? plain(depth - 1, then) : then(1);
  return got + 1;
}
[[gnu::noinline]] static int thrower(int n) {
  if (n) throw std::out_of_range("slow");
  return 0;
}
// Registers that the unwinder restores: values computed before and used after.
[[gnu::noinline]] static int with_cleanup(int n) {
  const uint32_t a = work(7), b = work(8), c = work(9);
  Slow slow(12);
  try {
    return plain(5, thrower) + n;
  } catch (const std::bad_alloc&) {
    CHECK(!"not this one");
  }
  CHECK(a == work(7) && b == work(8) && c == work(9));
  return 0;
}
[[gnu::noinline]] static int passes_on(int n) {
  const uint32_t a = work(10);
  try {
    return plain(5, with_cleanup) + n;
  } catch (const std::exception& error) {
    work_ms(12);
    CHECK(a == work(10) && strcmp(error.what(), "slow") == 0);
    throw;
  }
}
[[gnu::noinline]] static int changes(int n) {
  try {
    return plain(5, passes_on) + n;
  } catch (const std::out_of_range&) {
    work_ms(12);
    throw 5;
  }
}
static void slow_exceptions() {
  const uint32_t a = work(11);
  const int had = cleanups;
  try {
    Slow slow(12);
    plain(10, changes);
    CHECK(!"it throws");
  } catch (int n) {
    work_ms(12);
    CHECK(n == 5 && a == work(11) && cleanups == had + 2);
  }
}

static void on_leave(int* left) { work_ms(3); *left += 1; }
static int left;
[[gnu::noinline]] static int leave_below(int n) {
  int mark [[gnu::cleanup(on_leave)]] = n;
  Slow slow(3);
  pthread_exit(&left);
}
static void* leaver(void*) {
  Slow slow(3);
  plain(20, leave_below);
  return nullptr;
}

int main() {
  double end = section(1);
  do {
    slow_exceptions();
    const int had = cleanups;
    CHECK(join_thread(start_thread(leaver, nullptr)) == &left);
    CHECK(cleanups == had + 2);
  } while (before(end));
  puts("every slow cleanup ran once");
  return 0;
}
