// SPDX-License-Identifier: MIT
// What every allocator promises. A process has one allocator for its whole life, so each test runs
// in a child.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/interface/testing.h"
#include "runtime/malloc/memory/arena.h"

namespace stab::heap {
namespace {

using rt::Base;

class EachAllocator : public testing::TestWithParam<Base> {};

#define STAB_FIRST(name, ...) Base::name
#define STAB_NEXT(name, ...) , Base::name
INSTANTIATE_TEST_SUITE_P(All, EachAllocator,
                         testing::Values(STAB_ALLOCATORS(STAB_FIRST, STAB_NEXT, STAB_NEXT)),
                         [](const auto& info) { return rt::name_of(info.param); });
#undef STAB_FIRST
#undef STAB_NEXT

bool is_the_systems(Base base) {
  return base == Base::system || base == Base::stretched || base == Base::layer;
}

TEST_P(EachAllocator, ServesEightThreadsThatDoAllThatProgramsDo) {
  if (watches_threads && is_the_systems(GetParam())) GTEST_SKIP() << "libc's own code is unwatched";
  EXPECT_TRUE(holds([] { return Stress(open(GetParam()), 7).run(8, 3000); }));
}

TEST_P(EachAllocator, GivesDistinctBlocksForZeroBytes) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(GetParam());
    std::set<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.insert(a.allocate(0));
    return blocks.size() == 100 && !blocks.contains(nullptr);
  }));
}

TEST_P(EachAllocator, RefusesWhatNoMachineHas) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(GetParam());
    void* kept = a.allocate(100);
    for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2, std::size_t{1} << 60}) {
      for (void* block : {a.allocate(size), a.allocate_zeroed(size), a.allocate_aligned(64, size),
                          a.resize(kept, size)})
        if (block != nullptr) return false;
      if (errno != ENOMEM) return false;
      errno = 0;
    }
    a.release(kept);
    return true;
  }));
}

// A program may calloc() far more than it uses, for a sparse table. Fresh pages are zero already.
TEST_P(EachAllocator, DoesNotWriteToALargeZeroedBlock) {
  EXPECT_TRUE(holds([] {
    constexpr std::size_t page = 4096;
    constexpr std::size_t pages = (std::size_t{64} << 20) / page;
    const Allocator& a = open(GetParam());
    void* block = a.allocate_zeroed(pages * page);
    if (block == nullptr) return false;
    const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
    static unsigned char present[pages];
    if (mincore(reinterpret_cast<void*>(first), (pages - 1) * page, present) != 0) return false;
    // One write makes a whole large page present.
    return std::ranges::count_if(present, [](unsigned char each) { return (each & 1) != 0; }) <
           static_cast<std::ptrdiff_t>(pages / 8);
  }));
}

TEST_P(EachAllocator, KeepsContentsWhileABlockGrowsAndShrinks) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(GetParam());
    constexpr std::size_t most = std::size_t{5} << 20;
    auto* block = static_cast<unsigned char*>(a.allocate(1));
    block[0] = 1;
    std::size_t size = 1;
    const auto value = [](std::size_t i) { return static_cast<unsigned char>(i * 31 + 1); };
    for (; size < most; size = size * 3 / 2 + 1) {
      const std::size_t next = size * 3 / 2 + 1;
      block = static_cast<unsigned char*>(a.resize(block, next));
      for (std::size_t i = 0; i < size; ++i)
        if (block[i] != value(i)) return false;
      for (std::size_t i = size; i < next; ++i) block[i] = value(i);
    }
    for (; size > 1; size /= 3) {
      block = static_cast<unsigned char*>(a.resize(block, size));
      for (std::size_t i = 0; i < size; ++i)
        if (block[i] != value(i)) return false;
    }
    a.release(block);
    return true;
  }));
}

// A large block moves to another place in its page with the pages that are remapped.
TEST_P(EachAllocator, HasTheRoomThatALargeBlockGrowsTo) {
  if (is_the_systems(GetParam())) GTEST_SKIP() << "libc's own blocks have no places";
  EXPECT_TRUE(holds([] {
    constexpr size_t size = (size_t{3} << 20) + 4096;
    const Allocator& a = open(GetParam());
    for (int round = 0; round < 6; ++round) {
      static void* blocks[1000];
      for (void*& block : blocks) block = a.allocate(1300000);
      for (void*& block : blocks) {
        block = a.resize(block, size);
        if (block == nullptr || a.usable(block) < size) return false;
      }
      for (void* block : blocks) a.release(block);
    }
    return true;
  }));
}

TEST_P(EachAllocator, HasNoRoomInALargeBlockThatWasGivenBack) {
  if (is_the_systems(GetParam())) GTEST_SKIP() << "libc reads what it has unmapped";
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(GetParam());
    void* block = a.allocate(std::size_t{4} << 20);
    a.release(block);
    return a.usable(block) == 0;
  }));
}

TEST_P(EachAllocator, AlignsAsItIsAsked) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(GetParam());
    for (std::size_t alignment = 16; alignment <= (std::size_t{1} << 22); alignment *= 2)
      for (const std::size_t size :
           {std::size_t{0}, std::size_t{1}, std::size_t{200}, std::size_t{70000}}) {
        auto* block = static_cast<unsigned char*>(a.allocate_aligned(alignment, size));
        if (block == nullptr || reinterpret_cast<std::uintptr_t>(block) % alignment != 0)
          return false;
        if (a.usable(block) < size) return false;
        auto* other = static_cast<unsigned char*>(a.allocate(size));
        if (size != 0) block[0] = block[size - 1] = 1;
        if (other == block) return false;
        a.release(other);
        a.release(block);
      }
    return true;
  }));
}

TEST_P(EachAllocator, SurvivesForksWhileOtherThreadsUseIt) {
  if (watches_threads && is_the_systems(GetParam())) GTEST_SKIP() << "libc's own code is unwatched";
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(GetParam());
    std::atomic<bool> stop = false;
    std::vector<std::thread> others;
    for (unsigned t = 0; t < 3; ++t)
      others.emplace_back([&, t] {
        for (unsigned i = 0; !stop; ++i) Stress(a, t * 1000 + i).run(1, 200);
      });
    bool good = true;
    for (int i = 0; i < 10 && good; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);
        std::vector<void*> blocks;
        for (int k = 0; k < 1000; ++k) blocks.push_back(a.allocate(static_cast<unsigned>(k) * 8));
        for (void* block : blocks) a.release(block);
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    stop = true;
    for (auto& thread : others) thread.join();
    return good;
  }));
}

TEST(ForkedChildren, DrawPlacesOfTheirOwnForLargeBlocks) {
  for (const Base base : {Base::shuffled, Base::bitmap})
    EXPECT_TRUE(holds([base] {
      using Places = std::array<std::uint64_t, 8>;
      const Allocator& a = open(base);
      void* shared = mmap(nullptr, 2 * sizeof(Places), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      if (shared == MAP_FAILED) return false;
      auto* places = static_cast<Places*>(shared);
      for (int i = 0; i < 2; ++i) {
        const pid_t child = fork();
        if (child == 0) {
          for (std::uint64_t& place : places[i])
            place = reinterpret_cast<std::uintptr_t>(a.allocate(100'000)) % unit_size;
          _exit(0);
        }
        waitpid(child, nullptr, 0);
      }
      return places[0] != places[1];
    })) << rt::name_of(base);
}

// The places of blocks in a run of one thread, relative to the first.
std::vector<std::uint64_t> places(Base base, std::uint64_t seed) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  constexpr std::size_t count = 2000;
  std::vector<std::uint64_t> found(count);
  if (child == 0) {
    const Allocator& a = open(base, seed);
    for (std::size_t i = 0; i < count; ++i) {
      found[i] = reinterpret_cast<std::uint64_t>(a.allocate(16 + i % 50 * 16));
      if (i % 3 == 2) a.release(reinterpret_cast<void*>(found[i - 1]));
    }
    const std::size_t bytes = count * sizeof found[0];
    _exit(write(ends[1], found.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
  }
  close(ends[1]);
  std::size_t got = 0;
  while (got < count * sizeof found[0]) {
    const ssize_t n =
        read(ends[0], reinterpret_cast<char*>(found.data()) + got, count * sizeof found[0] - got);
    if (n <= 0) return {};
    got += static_cast<std::size_t>(n);
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  for (std::size_t i = count; i-- > 0;) found[i] -= found[0];
  return found;
}

TEST_P(EachAllocator, GivesTheSameLayoutForTheSameSeedAndAnotherForAnother) {
  if (is_the_systems(GetParam()))
    GTEST_SKIP() << "the system's heap holds the test's own blocks, too";
  const auto first = places(GetParam(), 5);
  ASSERT_EQ(first.size(), 2000U);
  EXPECT_EQ(places(GetParam(), 5), first);
  EXPECT_NE(places(GetParam(), 6), first);
}

}  // namespace
}  // namespace stab::heap
