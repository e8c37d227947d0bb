// SPDX-License-Identifier: MIT
// Calls that the compiler checks by a number before the function that is called: virtual ones, by pointers to members, and by
// pointers to functions.
// variants: -O2 -fsanitize=kcfi | -O0 -fsanitize=kcfi | -O2
#include <cstdio>
#include <cstdlib>

namespace {
struct Shape {
  virtual long area(long x) const { return x + 1; }
  virtual long edge(long x) const { return x * 2; }
  virtual ~Shape() = default;
};
struct Square : Shape {
  long area(long x) const override { return x * x; }
};

long twice(long x) { return x * 2; }
long thrice(long x) { return x * 3; }
}  // namespace

int main() {
  Square square;
  Shape plain;
  const Shape *shapes[] = {&square, &plain};
  long (Shape::*volatile members[])(long) const = {&Shape::area, &Shape::edge};
  long (*volatile functions[])(long) = {twice, thrice};
  const char *repeat = std::getenv("REPEAT");
  unsigned long sum = 0;
  for (long i = 0, end = 2000 * (repeat ? std::atol(repeat) : 1); i < end; ++i) {
    const Shape *shape = shapes[i % 3 % 2];
    sum = sum * 31 + static_cast<unsigned long>((shape->*members[i % 2])(i) + shape->area(i) + functions[i % 5 % 2](i));
  }
  std::printf("%lu\n", sum);
}
