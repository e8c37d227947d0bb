// SPDX-License-Identifier: MIT
// Direct, indirect and virtual calls, pointers to members, lambdas, std::function.
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -Oz | -O2 -flto | -O2 -flto=thin | -O2 -fno-pie -no-pie | -O2 -fno-plt | -O2 -fcf-protection
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual long area() const = 0;
  virtual long scaled(long factor) const { return area() * factor; }
};
struct Square : Shape {
  explicit Square(long side) : side(side) {}
  long area() const override { return side * side; }
  long side;
};
struct Base {
  virtual long tag() const { return 7; }
  virtual ~Base() = default;
};
struct Both : Square, Base {
  Both() : Square(3) {}
  long scaled(long factor) const override { return Square::scaled(factor) + tag(); }
  long tag() const override { return 11; }
};

[[gnu::noinline]] long add(long a, long b) { return a + b; }
[[gnu::noinline]] long multiply(long a, long b) { return a * b; }
[[gnu::noinline]] long fold(long (*f)(long, long), int n) {
  long result = 1;
  for (int i = 1; i <= n; ++i) result = f(result, i);
  return result;
}
[[gnu::noinline]] long fibonacci(long n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
[[gnu::noinline]] bool odd(int n);
[[gnu::noinline]] bool even(int n) { return n == 0 || odd(n - 1); }
bool odd(int n) { return n != 0 && even(n - 1); }

}  // namespace

int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  shapes.push_back(std::make_unique<Square>(5));
  shapes.push_back(std::make_unique<Both>());
  long total = 0;
  for (int round = 0; round < 1000; ++round)
    for (const auto& shape : shapes) total += shape->scaled(round);
  long (Shape::*member)(long) const = &Shape::scaled;
  total += ((*shapes[1]).*member)(2);
  std::function<long(long)> bound = [total](long x) { return total ^ x; };
  std::printf("%ld %ld %ld %ld %ld %d\n", total, bound(77), fold(add, 100), fold(multiply, 10), fibonacci(20), even(10));
  return static_cast<int>(total % 100);
}
