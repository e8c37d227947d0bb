// SPDX-License-Identifier: MIT
// Gives texts numbers, in the order in which they first appear.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace stab::stats {

class Interner {
 public:
  std::uint32_t code(std::string_view text);

  [[nodiscard]] std::size_t size() const { return texts_.size(); }

  // Returns the texts in the order that people expect: numbers by size, then other texts.
  // `renumber[code]` is a text's new place.
  [[nodiscard]] std::vector<std::string> sorted(std::vector<std::uint32_t>& renumber) const;

 private:
  [[nodiscard]] std::size_t place_of(std::string_view text) const;  // of the text, or a free one
  void grow();

  // Most columns have few levels, so the last text of each slot is compared before the map is
  // searched.
  static constexpr std::size_t slots = 64;
  struct Slot {
    const std::string* text = nullptr;
    std::uint32_t code = 0;
  };
  std::array<Slot, slots> recent_{};
  std::deque<std::string> texts_;  // their addresses must not change
  // A hash table: each place has a code plus 1, or 0. A text is at the place of its hash, or at the
  // next free place behind it. At most half of the places are taken, and their number is a power of
  // two.
  std::vector<std::uint32_t> places_;
};

}  // namespace stab::stats
