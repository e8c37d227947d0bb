// SPDX-License-Identifier: MIT
#include "runtime/image/pads.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "runtime/abi/sample_table.h"

namespace stab::rt {
namespace {

constexpr std::uint32_t alone = 0;
constexpr std::uint32_t part = 1;  // of `whole`, which lies behind it
constexpr std::uint32_t whole = 2;
constexpr std::uint32_t functions = 3;
constexpr std::uint16_t most = 7;

// An image with two layouts.
class PadsOfParts : public ::testing::Test {
 protected:
  PadsOfParts() {
    testing::SampleTable sample;
    sample.functions.assign(functions, abi::Function{});
    sample.frames = {{0, 0, 0, most, 1, 0, 0, 0},
                     {0, 0, 0, most, 1, 0, 0, whole + 1},
                     {0, 0, 0, most, 1, 0, 0, 0}};
    sample.labels = {};
    table_ = sample.build();
    image_.table = reinterpret_cast<const abi::Header*>(table_.data());
    image_.uses = uses_.data();
    image_.layouts = layouts_.data();
    image_.padded = true;
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      offsets_[i].fill(0);
      layouts_[i].offsets = offsets_[i].data();
      layouts_[i].pads = pads_[i].data();
    }
    find_kept_pads(image_);
  }

  void draw(std::uint64_t seed) {
    image_.padded_functions = 0;
    image_.pad_random = Random(seed);
    draw_pads(image_, layouts_[0]);
  }

  std::vector<std::uint64_t> table_;
  std::array<std::uint8_t, functions> uses_{};
  std::array<std::array<std::uint32_t, functions>, 2> offsets_{};
  std::array<std::array<std::uint16_t, functions>, 2> pads_{};
  std::array<Layout, 2> layouts_;
  Image image_;
};

// Pads 2.
TEST_F(PadsOfParts, AreTheFunctionsInAllLayouts) {
  std::set<std::uint16_t> drawn;
  std::set<std::uint16_t> drawn_again;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    draw(seed);
    EXPECT_EQ(pads_[0][part], pads_[0][whole]);
    EXPECT_EQ(image_.padded_functions, 2U);
    drawn.insert(pads_[0][part]);
    draw_pads_again(image_, layouts_[1], PadChange::all);
    EXPECT_EQ(pads_[1][part], pads_[0][part]);
    EXPECT_EQ(pads_[1][whole], pads_[0][whole]);
    if (pads_[1][alone] != pads_[0][alone]) drawn_again.insert(pads_[1][alone]);
  }
  EXPECT_EQ(drawn.size(), most + std::size_t{1});
  EXPECT_GT(drawn_again.size(), 1U);
}

// Pads 2. The code of one of them was changed, say by a debugger's breakpoint.
TEST_F(PadsOfParts, AreNoneIfOneHasNoCopy) {
  for (const std::uint32_t missing : {part, whole}) {
    offsets_[0].fill(0);
    offsets_[0][missing] = no_copy;
    std::set<std::uint16_t> others;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      draw(seed);
      EXPECT_EQ(pads_[0][part], 0);
      EXPECT_EQ(pads_[0][whole], 0);
      others.insert(pads_[0][alone]);
    }
    EXPECT_EQ(others.size(), most + std::size_t{1});
  }
}

}  // namespace
}  // namespace stab::rt
