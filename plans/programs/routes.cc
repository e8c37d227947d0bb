// SPDX-License-Identifier: MIT
// Shortest routes on a generated road map, with a heap of our own over std::vector: templates,
// inlining, random access.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

struct Road {
  std::uint32_t to;
  std::uint32_t length;
};

class Map {
 public:
  explicit Map(std::uint32_t side) : roads_(std::size_t{side} * side) {
    for (std::uint32_t y = 0; y < side; ++y)
      for (std::uint32_t x = 0; x < side; ++x) {
        const std::uint32_t here = y * side + x;
        if (x + 1 < side) connect(here, here + 1);
        if (y + 1 < side) connect(here, here + side);
        if (number() % 16 == 0) connect(here, number() % (side * side));
      }
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(roads_.size()); }
  const std::vector<Road>& from(std::uint32_t place) const { return roads_[place]; }

 private:
  std::uint32_t number() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  void connect(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t length = 1 + number() % 100;
    roads_[a].push_back({b, length});
    roads_[b].push_back({a, length});
  }

  std::uint64_t state_ = 42;
  std::vector<std::vector<Road>> roads_;
};

template <class T>
class Heap {
 public:
  bool empty() const { return items_.empty(); }

  void push(T item) {
    items_.push_back(item);
    for (std::size_t i = items_.size() - 1; i > 0 && items_[i] < items_[(i - 1) / 2];
         i = (i - 1) / 2)
      std::swap(items_[i], items_[(i - 1) / 2]);
  }

  T pop() {
    const T first = items_.front();
    items_.front() = items_.back();
    items_.pop_back();
    for (std::size_t i = 0;;) {
      std::size_t least = i;
      for (const std::size_t child : {2 * i + 1, 2 * i + 2})
        if (child < items_.size() && items_[child] < items_[least]) least = child;
      if (least == i) return first;
      std::swap(items_[i], items_[least]);
      i = least;
    }
  }

 private:
  std::vector<T> items_;
};

constexpr std::uint32_t unknown = ~0u;

std::vector<std::uint32_t> distances(const Map& map, std::uint32_t start) {
  std::vector<std::uint32_t> best(map.size(), unknown);
  Heap<std::pair<std::uint32_t, std::uint32_t>> open;
  best[start] = 0;
  open.push({0, start});
  while (!open.empty()) {
    const auto [distance, place] = open.pop();
    if (distance > best[place]) continue;
    for (const Road& road : map.from(place)) {
      const std::uint32_t through = distance + road.length;
      if (through >= best[road.to]) continue;
      best[road.to] = through;
      open.push({through, road.to});
    }
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int starts = argc > 1 ? std::atoi(argv[1]) : 10;
  const Map map(150);
  for (int i = 0; i < starts; ++i) {
    std::uint64_t sum = 0;
    for (const std::uint32_t distance :
         distances(map, static_cast<std::uint32_t>(i) * 977 % map.size()))
      sum += distance;
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
  }
}
