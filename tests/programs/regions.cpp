// SPDX-License-Identifier: MIT
// A region of C++ that ends with its scope, by an exception too.
// variants: -O0 | -O2
#include <cstdio>
#include <stdexcept>
#include "stabilizer.h"

struct Region {
  explicit Region(const char *name) : name_(name) { STAB_BEGIN_REGION(name_); }
  ~Region() { STAB_END_REGION(name_); }
  const char *name_;
};

__attribute__((noinline)) static int risky(int i) {
  const Region region("risky");
  if (i % 2 != 0) throw std::runtime_error("odd");
  return i;
}

int main() {
  const Region all("Parser.all");
  int caught = 0;
  for (int i = 0; i < 10; ++i) try {
      risky(i);
    } catch (const std::runtime_error &) {
      ++caught;
    }
  std::printf("%d\n", caught);
  return 0;
}
