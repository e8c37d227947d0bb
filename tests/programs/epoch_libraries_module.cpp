// SPDX-License-Identifier: MIT
// The library of epoch_libraries.cpp.
#include "hazard.h"
#include <stdexcept>

extern "C" void library_event(int what);
extern "C" int library_callback(int n);
namespace {
struct Counted {
  Counted() { library_event(1); }
  ~Counted() { work(100); library_event(-1); }
};
Counted counted;
[[gnu::noinline]] int below(int depth, int n) {
  if (depth > 0) return below(depth - 1, n) + 1;
  return library_callback(n);
}
}  // namespace

extern "C" int library_run(int n) {
  try {
    return below(20, n) - 20 + 1;
  } catch (const std::length_error&) {
    return n;
  }
}
extern "C" int library_raise(int n) {
  Counted here;
  switch (n & 7) {
  case 0: work(3); break;
  case 1: work(4); break;
  case 2: work(5); break;
  case 3: work_once(); break;
  default: work(6);
  }
  throw std::domain_error("by the library");
}
extern "C" int library_spin(double ms) {
  work_ms(ms);
  return 1;
}
