// SPDX-License-Identifier: MIT
// Exceptions and callbacks through a library that szc did not build, and one that it did.
// plain_library: foreign_plain.cpp
// library: foreign_moved.cpp
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie
#include <cstdio>
#include <stdexcept>

void plain_throw(int n);
int plain_call(int (*f)(int), int x);
void moved_throw(int n);
int moved_call(int (*f)(int), int x);

static int thrower(int x) {
  if (x > 2) throw std::out_of_range("callback");
  return x;
}
template <class F>
static int attempt(F f) {
  try {
    return f();
  } catch (const std::out_of_range& e) {
    return e.what()[0];
  } catch (int n) {
    return n * 1000;
  }
}
int main() {
  int r = 0;
  for (int i = 0; i < 20; ++i) {
    r += attempt([&] { return plain_call(thrower, i); });
    r += attempt([&] { return moved_call(thrower, i); });
    r += attempt([&] { plain_throw(i); return 1; });
    r += attempt([&] { moved_throw(i); return 2; });
  }
  std::printf("%d\n", r);
  return 0;
}
