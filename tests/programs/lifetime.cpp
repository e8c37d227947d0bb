// SPDX-License-Identifier: MIT
// Static constructors and destructors, atexit, quick order, and output after main.
// library: lifetime_library.cpp
// variants: -O0 | -O2
#include <cstdio>
#include <cstdlib>
#include <string>

int library_value();
struct Noisy {
  explicit Noisy(const char* name) : name(name) { std::printf("+%s\n", name); }
  ~Noisy() { std::printf("-%s\n", name.c_str()); }
  std::string name;
};
static Noisy first("first");
__attribute__((init_priority(200))) static Noisy early("early");
__attribute__((constructor(101))) static void before_all() { std::puts("constructor 101"); }
__attribute__((destructor)) static void at_end() { std::puts("destructor"); }
static Noisy& lazy() {
  static Noisy instance("lazy");
  return instance;
}
int main() {
  std::atexit([] { std::puts("atexit"); });
  std::printf("main %zu %d\n", lazy().name.size(), library_value());
  return 3;
}
