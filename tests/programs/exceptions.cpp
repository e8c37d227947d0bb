// SPDX-License-Identifier: MIT
// Exceptions through many moved frames: nested, rethrown, from constructors, with filters, by pointer, with cleanups.
// variants: -O0 -std=c++14 | -O2 -std=c++14 | -O3 -std=c++14 | -Os -std=c++14 | -O2 -std=c++14 -fno-pie -no-pie | -O2 -std=c++14 -flto | -O2 -std=c++14 -static-libgcc -static-libstdc++
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

static int cleanups;
struct Guard {
  explicit Guard(int n) : n(n) {}
  ~Guard() { cleanups += n; }
  int n;
};
[[gnu::noinline]] static int deep(int n) {
  Guard guard(n);
  if (n == 0) throw std::runtime_error("bottom");
  return deep(n - 1) + 1;
}
struct Part {
  explicit Part(int n) : n(n) {
    if (n == 3) throw n;
  }
  ~Part() { cleanups += 1000 * n; }
  int n;
};
struct Whole {
  Part a{1}, b{2}, c{3};
};
struct Base {
  virtual ~Base() = default;
};
struct Derived : Base {
  std::string text = "derived";
};
[[gnu::noinline]] static void rethrow(int level) {
  try {
    if (level == 0) throw Derived();
    rethrow(level - 1);
  } catch (const Derived& d) {
    cleanups += static_cast<int>(d.text.size());
    throw;
  }
}
[[gnu::noinline]] static void filtered(int n) throw(int) {
  if (n == 1) throw 5;
  if (n == 2) throw std::string("not allowed");
}
[[gnu::noinline]] static std::string nested() {
  try {
    try {
      deep(3);
    } catch (const std::exception&) {
      std::throw_with_nested(std::logic_error("outer"));
    }
  } catch (const std::exception& e) {
    try {
      std::rethrow_if_nested(e);
    } catch (const std::exception& inner) {
      return std::string(e.what()) + "/" + inner.what();
    }
  }
  return "none";
}
static void unexpected_is_int() { throw 7; }

int main() {
  for (int i = 0; i < 50; ++i) {
    try {
      deep(i);
    } catch (const std::runtime_error& e) {
      cleanups += e.what()[0];
    }
  }
  try {
    Whole whole;
  } catch (int n) {
    cleanups += n;
  }
  try {
    rethrow(10);
  } catch (const Base&) {
    ++cleanups;
  }
  std::set_unexpected(unexpected_is_int);
  int filters = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      filtered(i);
    } catch (int n) {
      filters = filters * 10 + n;
    }
  }
  try {
    throw std::make_unique<int>(9);
  } catch (std::unique_ptr<int>& p) {
    filters += *p;
  }
  std::printf("%d %d %s %d\n", cleanups, filters, nested().c_str(), static_cast<int>(std::uncaught_exception()));
  return 0;
}
