// SPDX-License-Identifier: MIT
// Addresses of blocks of a real program, by NIST's tests. The seeds are fixed, so each case passes
// or fails always. doc/randomness.md has all cases.
#include <gtest/gtest.h>

#include <string>

#include "tests/randomness/heap_case.h"

namespace stab::randomness {
namespace {

constexpr unsigned first_bit = 6;  // of the place in a cache line's set
constexpr unsigned last_bit = 11;

Score of(const HeapCase& heap) {
  const auto addresses = addresses_of(heap);
  EXPECT_EQ(addresses.size(), sequence) << heap.pattern;
  return score(addresses, first_bit, last_bit);
}

// With 48 tests at 1 % a random sequence fails more than three once in 700 times.
constexpr unsigned failures_by_chance = 3;

void expect_random(const HeapCase& heap) {
  const Score score = of(heap);
  EXPECT_GE(score.passed + failures_by_chance, score.tests)
      << heap.options << " " << heap.pattern << " " << heap.size;
  EXPECT_GT(score.least_entropy, 0.995) << heap.options << " " << heap.pattern << " " << heap.size;
}

TEST(HeapRandomness, TheControlPasses) {
  expect_random({"", "lrand48", 0});
}

TEST(HeapRandomness, BlocksOfAProgramThatOnlyAllocatesAreAtRandomPlaces) {
  for (const std::size_t size : {64UL, 1024UL})
    expect_random({"seed=1:heap_order=never", "grow", size});
}

TEST(HeapRandomness, BlocksOfAQueueAreAtRandomPlaces) {
  // From a small set of free slots the entropy is full, but a bit that most of them have is
  // frequent.
  for (const std::size_t size : {64UL, 1024UL}) {
    expect_random({"seed=1:heap_bag=4096", "queue", size});
    const Score usual = of({"seed=1", "queue", size});
    EXPECT_GE(usual.passed * 5, usual.tests * 4) << size;
    EXPECT_GT(usual.least_entropy, 0.995) << size;
  }
}

// The layer draws among as many blocks as 16 KB hold, of libc's own. Of a program that only takes
// blocks of 1 KB those are too few: bits 6 to 9 change once in 32 blocks.
TEST(HeapRandomness, BlocksOfTheLayerAreAtRandomPlacesInTheirPages) {
  for (const char* pattern : {"grow", "queue", "churn", "long"})
    for (const std::size_t size : {64UL, 256UL, 512UL}) {
      const Score layer = of({"seed=1:allocator=layer", pattern, size});
      EXPECT_GE(layer.passed * 5, layer.tests * 4) << pattern << " " << size;
      EXPECT_GT(layer.least_entropy, 0.99) << pattern << " " << size;
    }
}

TEST(HeapRandomness, TheSystemsHeapFailsTheSamePatterns) {
  for (const char* pattern : {"grow", "queue", "pair"}) {
    const Score score = of({"", pattern, 64});
    EXPECT_LT(score.passed, score.tests * 7 / 10) << pattern;
  }
}

// A claim of randomness names the mode: beyond 256 KB small blocks lie together by default.
TEST(HeapRandomness, TheDefaultModePutsLargeClassesInOrder) {
  for (const char* pattern : {"grow", "long"}) {
    const Score usual = of({"seed=1", pattern, 64});
    EXPECT_LT(usual.passed, usual.tests * 7 / 10) << pattern;
    const Score never = of({"seed=1:heap_order=never", pattern, 64});
    EXPECT_GE(never.passed * 5, never.tests * 4) << pattern;
  }
}

}  // namespace
}  // namespace stab::randomness
