// SPDX-License-Identifier: MIT
// A set of numbers as std::map or as a sorted vector, by what one does with it: for Google Benchmark.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace {

#ifdef SORTED
class Container {
 public:
  void insert(std::uint32_t key, std::uint32_t value) {
    const auto place = place_of(key);
    if (place == entries_.end() || place->first != key)
      entries_.insert(place, std::make_pair(key, value));
  }
  const std::uint32_t* find(std::uint32_t key) {
    const auto place = place_of(key);
    return place == entries_.end() || place->first != key ? nullptr : &place->second;
  }
  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const auto& entry : entries_) sum += entry.second;
    return sum;
  }

 private:
  using Entries = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  Entries::iterator place_of(std::uint32_t key) {
    return std::lower_bound(entries_.begin(), entries_.end(), key,
                            [](const auto& entry, std::uint32_t k) { return entry.first < k; });
  }
  Entries entries_;
};
#else
class Container {
 public:
  void insert(std::uint32_t key, std::uint32_t value) { entries_.emplace(key, value); }
  const std::uint32_t* find(std::uint32_t key) {
    const auto place = entries_.find(key);
    return place == entries_.end() ? nullptr : &place->second;
  }
  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const auto& entry : entries_) sum += entry.second;
    return sum;
  }

 private:
  std::map<std::uint32_t, std::uint32_t> entries_;
};
#endif

// The same numbers in each run.
std::vector<std::uint32_t> keys(std::size_t count) {
  std::vector<std::uint32_t> keys;
  std::uint32_t state = 2463534242;
  for (std::size_t i = 0; i < count; ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    keys.push_back(state);
  }
  return keys;
}

Container filled(const std::vector<std::uint32_t>& keys) {
  Container container;
  for (const std::uint32_t key : keys) container.insert(key, key / 2);
  return container;
}

void fill(benchmark::State& state) {
  const auto numbers = keys(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    Container container = filled(numbers);
    benchmark::DoNotOptimize(container);
  }
}
BENCHMARK(fill)->Arg(64)->Arg(2048);

void find(benchmark::State& state) {
  const auto numbers = keys(static_cast<std::size_t>(state.range(0)));
  Container container = filled(numbers);
  for (auto _ : state)
    for (const std::uint32_t key : numbers) benchmark::DoNotOptimize(container.find(key));
}
BENCHMARK(find)->Arg(64)->Arg(2048);

void sum(benchmark::State& state) {
  const Container container = filled(keys(static_cast<std::size_t>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(container.sum());
}
BENCHMARK(sum)->Arg(64)->Arg(2048);

}  // namespace

BENCHMARK_MAIN();
