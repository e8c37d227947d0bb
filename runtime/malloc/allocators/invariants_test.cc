// SPDX-License-Identifier: MIT
// A heap whose own records are wrong is ended where that is seen first.
#include <gtest/gtest.h>

#include <type_traits>

#include "runtime/malloc/allocators/bitmap.h"
#include "runtime/malloc/interface/testing.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/slabs.h"

namespace stab::heap {
namespace {

using rt::Base;

constexpr unsigned some_class = 3;
constexpr unsigned some_slots = 40;

// Slots of one slab, of a heap that has just been opened.
struct Some {
  void* slots[some_slots];
  Span* slab;

  explicit Some(unsigned count = some_slots) {
    open(Base::shuffled);
    slabs.take(some_class, slots, count);
    slab = span_of(slots[0]);
  }
};

TEST(Invariants, OfSlabsHoldWhileSlotsComeAndGo) {
  EXPECT_TRUE(holds([] {
    Some some;
    slabs.give(some_class, some.slots, some_slots);
    Row row{};
    if (!slabs.take_row(some_class, row)) return false;
    slabs.give_row(some_class, row);
    return slabs.is_valid();
  }));
}

TEST(Invariants, ASlabThatCountsMoreFreeSlotsThanItHasEndsTheProgram) {
  EXPECT_DEATH(
      {
        Some some(1);
        some.slab->free_slots = some.slab->slots;
        slabs.give(some_class, some.slots, 1);
      },
      "slabs.cc:[0-9]+: Slabs [12] does not hold");
}

TEST(Invariants, AFullSlabInTheListEndsTheProgram) {
  EXPECT_DEATH(
      {
        Some some;
        some.slab->free_slots = 0;
        slabs.take(some_class, some.slots, 1);
      },
      "Slabs 2 does not hold");
}

TEST(Invariants, BitsThatTheCountContradictsEndTheProgram) {
  EXPECT_DEATH(
      {
        Some some;
        some.slab->free_bits[0] = 0;
        slabs.give(some_class, some.slots, 1);
      },
      "Slabs 2 does not hold");
}

TEST(Invariants, ASlabWhoseSlotsLeaveItsSpanEndsTheProgram) {
  EXPECT_DEATH(
      {
        Some some;
        some.slab->slots += 4096;
        slabs.give(some_class, some.slots, 1);
      },
      "Slabs [23] does not hold");
}

TEST(Invariants, ASpanThatIsGivenBackTwiceEndsTheProgram) {
  EXPECT_DEATH(
      {
        open(Base::shuffled);
        bool zeroed = false;
        Span* span = arena.take(4, Purpose::slab, zeroed);
        arena.give(span);
        arena.give(span);
      },
      "arena.cc:[0-9]+: Spans [123] does not hold");
}

TEST(Invariants, ASpanThatIsResizedOnceItWasGivenBackEndsTheProgram) {
  EXPECT_DEATH(
      {
        open(Base::shuffled);
        bool zeroed = false;
        Span* span = arena.take(4, Purpose::slab, zeroed);
        arena.give(span);
        arena.resize(span, 2);
      },
      "arena.cc:[0-9]+: Spans 2 does not hold");
}

TEST(Invariants, AnArenaThatIsNotOpenOrOpenedTwiceEndsTheProgram) {
  bool zeroed = false;
  EXPECT_DEATH(arena.take(4, Purpose::slab, zeroed), "arena.cc:[0-9]+: Spans 4 does not hold");
  EXPECT_DEATH(
      {
        open(Base::shuffled);
        arena.open(2);
      },
      "arena.cc:[0-9]+: Spans 4 does not hold");
}

TEST(Invariants, ASecondAllocatorEndsTheProgram) {
  EXPECT_DEATH(
      {
        open(Base::shuffled);
        open(Base::bitmap);
      },
      "open.cc:[0-9]+: Choice 2 does not hold");
}

TEST(Invariants, TheArenaAloneSaysWhatASpanIsFor) {
  static_assert(std::is_convertible_v<decltype(Span::purpose), Purpose>);
  static_assert(!std::is_assignable_v<decltype((Span::purpose)), Purpose>);
}

TEST(Invariants, AnAddressWithoutATableEndsTheProgram) {
  EXPECT_DEATH(lead_to(0, &no_span), "Spans 1 does not hold");
  EXPECT_DEATH(lead_to(uint64_t{1} << 47, &no_span), "Spans 1 does not hold");
}

TEST(Invariants, ABitmapWhoseCountIsWrongEndsTheProgram) {
  EXPECT_DEATH(
      {
        const Allocator& a = open(Base::bitmap);
        void* block = a.allocate(64);
        span_of(block)->free_slots = 0;
        for (int i = 0; i < 5000; ++i) a.allocate(64);
      },
      "bitmap.cc:[0-9]+: Bitmap 1 does not hold");
}

}  // namespace
}  // namespace stab::heap
