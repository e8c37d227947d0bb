// SPDX-License-Identifier: MIT
#include "runtime/image/layout.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/os.h"

namespace stab::rt {

// What only reclamation and the end of an image can make elsewhere.
class Reclamation {
 public:
  static Unreferred proof(const Layout& layout) { return Unreferred(layout); }
};
struct ClosedImage {
  static ImageIsGone proof() { return {}; }
};

namespace {

constexpr std::uint32_t functions = 3;

void enter(Layout& layout) {
  Entry entry(layout, 1);
  entry.complete();
}

// Two of three functions have copies, the last one first.
class LayoutTest : public testing::Test {
 protected:
  LayoutTest() {
    EXPECT_TRUE(allocate_arrays(layout_, functions));
    layout_.code_size = os::page_size;
    layout_.unwind_size = os::page_size;
    void* memory = mmap(nullptr, layout_.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    layout_.start = static_cast<std::uint8_t*>(memory);
    layout_.life.begin();
    layout_.count = 2;
    layout_.order[0] = 2;
    layout_.order[1] = 0;
    layout_.offsets[2] = 16;
    layout_.offsets[0] = 64;
  }
  ~LayoutTest() override { release(layout_, functions, ClosedImage::proof()); }

  Layout layout_;
};

TEST_F(LayoutTest, IsValidWhenOrderAndOffsetsAgree) {
  EXPECT_TRUE(is_valid(layout_, functions));
}

TEST_F(LayoutTest, IsNotValidWithAFunctionThatTheOrderLacks) {
  layout_.offsets[1] = 128;
  EXPECT_FALSE(is_valid(layout_, functions));
}

TEST_F(LayoutTest, IsNotValidWithAFunctionTwiceInTheOrder) {
  layout_.order[1] = 2;
  EXPECT_FALSE(is_valid(layout_, functions));
}

TEST_F(LayoutTest, IsNotValidWhereThePlacesDoNotAscend) {
  layout_.offsets[0] = 0;
  EXPECT_FALSE(is_valid(layout_, functions));
}

TEST_F(LayoutTest, IsNotValidWithACopyBeyondTheCode) {
  layout_.offsets[0] = os::page_size;
  EXPECT_FALSE(is_valid(layout_, functions));
}

TEST_F(LayoutTest, IsNotValidWithHalfAPage) {
  Layout half = layout_;
  half.code_size -= 16;
  EXPECT_FALSE(is_valid(half, functions));
}

TEST_F(LayoutTest, IsWrittenToAndSealedWhileNothingRefersToIt) {
  EXPECT_TRUE(make_writable(layout_));
  layout_.start[0] = 0xc3;
  EXPECT_EQ(seal(layout_), nullptr);
}

TEST_F(LayoutTest, IsNotWrittenToWhileSomebodyMayRunInIt) {
  enter(layout_);
  EXPECT_DEATH(make_writable(layout_), "layout.cc:[0-9]+: Image 3 does not hold");
  layout_.life.retire();
  EXPECT_DEATH(make_writable(layout_), "layout.cc:[0-9]+: Image 3 does not hold");
  Layout first;
  first.life.stay();
  EXPECT_DEATH(make_writable(first), "layout.cc:[0-9]+: Image 3 does not hold");
}

TEST_F(LayoutTest, IsWrittenToAgainOnceReclaimed) {
  enter(layout_);
  layout_.life.retire();
  EXPECT_EQ(layout_.state(), LayoutState::old);
  forget(layout_, Reclamation::proof(layout_));
  EXPECT_EQ(layout_.state(), LayoutState::unused);
  EXPECT_TRUE(make_writable(layout_));
}

TEST_F(LayoutTest, IsForgottenOnlyWhenOldAndByAProofOfItsOwn) {
  const Layout other;
  enter(layout_);
  EXPECT_DEATH(forget(layout_, Reclamation::proof(layout_)), "Epochs 3 does not hold");
  layout_.life.retire();
  EXPECT_DEATH(forget(layout_, Reclamation::proof(other)), "Epochs 3 does not hold");
  layout_.referred = true;
  EXPECT_DEATH(forget(layout_, Reclamation::proof(layout_)), "Epochs 3 does not hold");
}

// Nobody but reclamation can make a proof, or use one twice.
static_assert(!std::is_default_constructible_v<Unreferred>);
static_assert(!std::is_constructible_v<Unreferred, const Layout&>);
static_assert(!std::is_copy_constructible_v<Unreferred> && !std::is_copy_assignable_v<Unreferred>);
static_assert(!std::is_assignable_v<LayoutLife&, LayoutState>);

TEST_F(LayoutTest, ProofIsGoodOnce) {
  enter(layout_);
  layout_.life.retire();
  Unreferred proof = Reclamation::proof(layout_);
  const Unreferred moved = std::move(proof);
  EXPECT_TRUE(moved.is_of(layout_));
  EXPECT_FALSE(proof.is_of(layout_));  // NOLINT(bugprone-use-after-move)
}

TEST_F(LayoutTest, IsUnusedAgainWhereTheKernelRefusesItsEntry) {
  {
    const Entry refused(layout_, 7);
    EXPECT_EQ(layout_.state(), LayoutState::current);
  }
  EXPECT_EQ(layout_.state(), LayoutState::unused);
  EXPECT_EQ(layout_.born, 7U);
}

TEST_F(LayoutTest, OfTheStartStaysWhatItIs) {
  Layout first;
  first.life.stay();
  first.life.retire();
  EXPECT_EQ(first.state(), LayoutState::permanent);
}

TEST_F(LayoutTest, IsNotSealedAcrossHalfAPage) {
  Layout half = layout_;
  half.unwind_size += 8;
  EXPECT_DEATH(seal(half), "Layout 1 does not hold");
}

// The page behind it may be somebody else's.
TEST_F(LayoutTest, IsNotReleasedWithHalfAPage) {
  Layout half = layout_;
  half.unwind_size += 8;
  EXPECT_DEATH(release(half, functions, ClosedImage::proof()), "Layout 1 does not hold");
}

TEST_F(LayoutTest, GetsItsArraysOnce) {
  EXPECT_DEATH(allocate_arrays(layout_, functions), "Layout 2 does not hold");
}

// All layouts of this test have 11 MB, as those of a program of 20,000 functions may.
class LayoutBytesTest : public testing::Test {
 protected:
  LayoutBytesTest() : layouts_(most_layouts) {
    for (Layout& layout : layouts_) {
      layout.code_size = std::uint64_t{10} << 20;
      layout.unwind_size = std::uint64_t{1} << 20;
    }
  }
  ~LayoutBytesTest() override { release_all(); }

  // Counts the memory of as many of them as one image may have.
  std::uint32_t fill() {
    std::uint32_t has = 0;
    for (; has < layouts_that_fit(has, size()); ++has) count_bytes(layouts_[has]);
    return has;
  }
  void release_all() {
    for (Layout& layout : layouts_) release(layout, functions, ClosedImage::proof());
  }
  [[nodiscard]] std::uint64_t size() const { return layouts_[0].size(); }

  std::vector<Layout> layouts_;
};

TEST_F(LayoutBytesTest, OfAnImageAreNoMoreThanTheBound) {
  EXPECT_EQ(fill(), 23U);
  EXPECT_LE(layout_bytes(), most_layout_bytes);
  EXPECT_GT(layout_bytes() + size(), most_layout_bytes);
}

TEST_F(LayoutBytesTest, AreTheSameTwiceCounted) {
  count_bytes(layouts_[0]);
  count_bytes(layouts_[0]);
  EXPECT_EQ(layout_bytes(), size());
}

TEST_F(LayoutBytesTest, AreGivenBackWithTheMemory) {
  fill();
  release_all();
  EXPECT_EQ(layout_bytes(), 0U);
  EXPECT_EQ(layouts_that_fit(0, std::uint64_t{11} << 20), 23U);
}

TEST_F(LayoutBytesTest, LeaveEachImageTheLayoutsThatItNeedsToMove) {
  fill();
  EXPECT_EQ(layouts_that_fit(0, size()), least_layouts);
  EXPECT_EQ(layouts_that_fit(1, most_layout_bytes), least_layouts);
  EXPECT_EQ(layouts_that_fit(least_layouts, size()), least_layouts);
}

TEST_F(LayoutBytesTest, OfSmallImagesLeaveTheirNumberToBeTheBound) {
  EXPECT_EQ(layouts_that_fit(1, os::page_size), most_layouts);
  EXPECT_EQ(layouts_that_fit(1, 0), most_layouts);
}

}  // namespace
}  // namespace stab::rt
