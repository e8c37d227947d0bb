// SPDX-License-Identifier: MIT
// Gives texts numbers, in the order in which they first appear.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
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
  // Most columns have few levels, so the last text of each slot is compared before the map is
  // searched.
  static constexpr std::size_t slots = 64;
  struct Slot {
    const std::string* text = nullptr;
    std::uint32_t code = 0;
  };
  std::array<Slot, slots> recent_{};
  std::deque<std::string> texts_;  // their addresses must not change
  std::unordered_map<std::string_view, std::uint32_t> codes_;
};

}  // namespace stab::stats
