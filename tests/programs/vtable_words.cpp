// SPDX-License-Identifier: MIT
// What stands in a vtable is a function's address to compilers that were told by a profile which one it mostly is, and to
// dladdr. So it stays that of functions that anybody else names.
// link: -ldl
// variants: -O0 | -O2 | -O2 -rdynamic | -O2 -fPIC -rdynamic
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

struct Shape {
  virtual long area(long x) const;
  virtual long edge(long x) const;
};
[[gnu::noinline]] long Shape::area(long x) const { return x * x; }
[[gnu::noinline]] long Shape::edge(long x) const { return 4 * x; }
extern "C" void area_of_shape() asm("_ZNK5Shape4areaEl");

[[gnu::noinline]] const void *word(const Shape *shape, int slot) { return (*reinterpret_cast<void *const *const *>(shape))[slot]; }

int main(int count, char **) {
  Shape shape;
  const Shape *volatile hidden = &shape;
  long sum = 0;
  for (int i = 0; i < 1000; ++i) {
    // As a promoted call does it.
    if (word(hidden, 0) == reinterpret_cast<void *>(area_of_shape))
      sum += i * i;
    else
      sum += 1000000 * hidden->area(i);
    sum += hidden->edge(i);
  }
  Dl_info info = {};
  const bool found = dladdr(word(hidden, 1), &info) != 0 && info.dli_sname != nullptr;
  const bool exported = dlsym(RTLD_DEFAULT, "_ZNK5Shape4edgeEl") != nullptr;
  std::printf("%ld %s\n", sum + count, found == exported ? "named" : "not named");
}
