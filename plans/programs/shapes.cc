// SPDX-License-Identifier: MIT
// Counts points inside of nested shapes: virtual calls through a tree of small heap objects,
// floating point.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

struct Point {
  double x;
  double y;
};

class Shape {
 public:
  virtual ~Shape() = default;
  virtual bool contains(Point p) const = 0;
};

class Circle final : public Shape {
 public:
  Circle(Point centre, double radius) : centre_(centre), radius_(radius) {}
  bool contains(Point p) const override {
    return std::hypot(p.x - centre_.x, p.y - centre_.y) <= radius_;
  }

 private:
  Point centre_;
  double radius_;
};

class Box final : public Shape {
 public:
  Box(Point low, Point high) : low_(low), high_(high) {}
  bool contains(Point p) const override {
    return p.x >= low_.x && p.x <= high_.x && p.y >= low_.y && p.y <= high_.y;
  }

 private:
  Point low_;
  Point high_;
};

class Union final : public Shape {
 public:
  Union(std::unique_ptr<Shape> a, std::unique_ptr<Shape> b) : a_(std::move(a)), b_(std::move(b)) {}
  bool contains(Point p) const override { return a_->contains(p) || b_->contains(p); }

 private:
  std::unique_ptr<Shape> a_, b_;
};

class Difference final : public Shape {
 public:
  Difference(std::unique_ptr<Shape> a, std::unique_ptr<Shape> b)
      : a_(std::move(a)), b_(std::move(b)) {}
  bool contains(Point p) const override { return a_->contains(p) && !b_->contains(p); }

 private:
  std::unique_ptr<Shape> a_, b_;
};

class Moved final : public Shape {
 public:
  Moved(std::unique_ptr<Shape> shape, double dx, double dy)
      : shape_(std::move(shape)), dx_(dx), dy_(dy) {}
  bool contains(Point p) const override { return shape_->contains({p.x - dx_, p.y - dy_}); }

 private:
  std::unique_ptr<Shape> shape_;
  double dx_, dy_;
};

class Numbers {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_ = 7;
};

std::unique_ptr<Shape> make(Numbers& numbers, int depth) {
  if (depth == 0) {
    const Point p{numbers.next(), numbers.next()};
    if (numbers.next() < 0.5) return std::make_unique<Circle>(p, 0.3 * numbers.next());
    return std::make_unique<Box>(p, Point{p.x + numbers.next(), p.y + numbers.next()});
  }
  const double kind = numbers.next();
  if (kind < 0.2) {
    // One after the other: compilers choose the order of arguments.
    std::unique_ptr<Shape> shape = make(numbers, depth - 1);
    const double x = numbers.next() - 0.5;
    const double y = numbers.next() - 0.5;
    return std::make_unique<Moved>(std::move(shape), x, y);
  }
  auto first = make(numbers, depth - 1);
  auto second = make(numbers, depth - 1);
  if (kind < 0.7) return std::make_unique<Union>(std::move(first), std::move(second));
  return std::make_unique<Difference>(std::move(first), std::move(second));
}

}  // namespace

int main(int argc, char** argv) {
  const long points = argc > 1 ? std::atol(argv[1]) : 100000;
  Numbers numbers;
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 8; ++i) shapes.push_back(make(numbers, 7));
  std::vector<long> inside(shapes.size());
  for (long i = 0; i < points; ++i) {
    const Point p{numbers.next(), numbers.next()};
    for (std::size_t s = 0; s < shapes.size(); ++s) inside[s] += shapes[s]->contains(p) ? 1 : 0;
  }
  for (const long count : inside) std::printf("%ld\n", count);
}
