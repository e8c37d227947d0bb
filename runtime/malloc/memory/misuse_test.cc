// SPDX-License-Identifier: MIT
// What programs do wrong with their heap ends them as libc's heap would.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/malloc/interface/testing.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/slabs.h"

namespace stab::heap {
namespace {

using rt::Base;

class OurHeap : public testing::TestWithParam<Base> {};

INSTANTIATE_TEST_SUITE_P(All, OurHeap,
                         testing::Values(Base::shuffled, Base::power2, Base::bitmap, Base::tlsf),
                         [](const auto& info) { return rt::name_of(info.param); });

char* inside(void* block, std::ptrdiff_t offset) {
  return static_cast<char*>(block) + offset;
}

TEST_P(OurHeap, EndsAProgramThatFreesTheInsideOfABlock) {
  EXPECT_TRUE(ends([] {
    const Allocator& a = open(GetParam());
    a.release(inside(a.allocate(64), 8));
  }));
  EXPECT_TRUE(ends([] {
    const Allocator& a = open(GetParam());
    a.resize(inside(a.allocate(64), 8), 1000);
  }));
  EXPECT_TRUE(ends([] {
    const Allocator& a = open(GetParam());
    a.release(inside(a.allocate(1 << 20), 16));
  }));
}

TEST_P(OurHeap, EndsAProgramThatFreesALargeBlockTwice) {
  EXPECT_TRUE(ends([] {
    const Allocator& a = open(GetParam());
    void* block = a.allocate(1 << 20);
    a.release(block);
    a.release(block);
  }));
  EXPECT_TRUE(ends([] {
    const Allocator& a = open(GetParam());
    void* block = a.allocate(1 << 20);
    a.release(block);
    a.resize(block, 1 << 21);
  }));
}

TEST_P(OurHeap, KnowsNoSizeOfALargeBlockThatWasFreed) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(GetParam());
    void* blocks[40];
    for (void*& block : blocks) block = a.allocate(300000);
    for (void* block : blocks) a.release(block);
    for (void* block : blocks)
      if (a.usable(block) != 0) return false;
    return true;
  }));
}

TEST_P(OurHeap, EndsAProgramThatFreesABlockTwiceInARow) {
  for (const std::size_t size : {1, 24, 64, 1000, 30000}) {
    EXPECT_TRUE(ends([=] {
      const Allocator& a = open(GetParam());
      void* block = a.allocate(size);
      a.release(block);
      a.release(block);
    }));
    EXPECT_TRUE(ends([=] {
      const Allocator& a = open(GetParam());
      void* block = a.allocate_aligned(1024, size);
      a.release(block);
      a.resize(block, 2 * size);
    }));
  }
}

TEST(BitmapHeap, EndsAProgramThatFreesABlockTwiceWithOthersInBetweenOrInAnotherThread) {
  EXPECT_TRUE(ends([] {
    const Allocator& a = open(Base::bitmap);
    void* blocks[600];
    for (void*& block : blocks) block = a.allocate(64);
    for (int i = 0; i < 300; ++i) a.release(blocks[i]);
    a.release(blocks[7]);
  }));
  EXPECT_TRUE(ends([] {
    const Allocator& a = open(Base::bitmap);
    void* block = a.allocate(64);
    a.release(block);
    std::thread([&] { a.release(block); }).join();
  }));
}

TEST_P(OurHeap, KnowsABlockAgainThatWasFreedAndTakenAgain) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(GetParam());
    for (const std::size_t size : {16, 24, 64, 1000, 30000, 300000})
      for (int round = 0; round < 300; ++round) {
        void* block = a.allocate(size);
        a.release(a.allocate_aligned(256, size));
        a.release(a.allocate_zeroed(size));
        a.release(a.resize(block, 2 * size));
      }
    return true;
  }));
}

TEST(ShuffledHeap, TakesBackBlocksThatBeginInsideASlot) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    for (int i = 0; i < 2000; ++i) {
      void* aligned = a.allocate_aligned(256, 100);
      void* plain = a.allocate(300);
      a.release(a.resize(aligned, 2000));
      a.release(plain);
    }
    return true;
  }));
}

TEST(Span, KnowsWhereItsSlotsBegin) {
  for (unsigned c = 0; c < fine_classes.count; ++c) {
    const std::uint32_t size = fine_classes.size[c];
    Span span{};
    span.first = 4096 + 16;
    span.reciprocal = reciprocal_of(size);
    for (std::uint64_t offset = 0; offset < 4 * unit_size; offset += 8) {
      ASSERT_EQ(span.slot_at(span.first + offset), offset / size);
      ASSERT_EQ(span.begins_slot(span.first + offset), offset % size == 0);
    }
  }
}

}  // namespace
}  // namespace stab::heap
