// SPDX-License-Identifier: MIT
// The data to analyse: one number for each trial, and categorical columns that describe the trial.
// An Interner gives texts the codes of such a column.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace stab::stats {

// A categorical column. `levels` is in the order in which people should see it, and the first level
// is the baseline.
struct Column {
  std::string name{};
  std::vector<std::string> levels{};
  std::vector<std::uint32_t> codes{};  // one for each row, an index into `levels`
};

// Rows are counted in 32 bits.
inline constexpr std::size_t most_rows = 4'000'000'000;

// A trial that ran but has no number, with the bounds of the number that it would have had.
struct Lost {
  std::vector<std::uint32_t> codes{};                          // one for each column, as in Column
  double at_least = -std::numeric_limits<double>::infinity();  // in the response's unit
  double at_most = std::numeric_limits<double>::infinity();
  // A rule of the plan left out the trial's number, which lies between these bounds. Without the
  // disturbance, it may be any number that its cell has.
  bool excluded = false;
};

struct Dataset {
  // One number for each row, in the order of the trials; NaN: not measured. The number is response
  // + centre, so that numbers that differ little keep all their digits.
  std::vector<double> response{};
  std::vector<Column> columns{};
  double centre = 0;
  std::vector<Lost> lost{};  // in addition to the rows without a number
  // True if `lost` has all trials that were lost: any other cell that a block lacks did not run.
  // Otherwise, a block that lacks a cell has lost it.
  bool lists_lost = false;

  // Returns nothing if the column does not exist.
  [[nodiscard]] const Column* find(std::string_view name) const;
  // Checks that there are at most most_rows rows, that every column has one code for each row and
  // every lost trial one for each column, and that every code has a level.
  [[nodiscard]] bool is_valid() const;
};

// Gives texts numbers, in the order in which they first appear.
class Interner {
 public:
  std::uint32_t code(std::string_view text);

  [[nodiscard]] std::size_t size() const { return texts_.size(); }

  // Returns the texts in the order that people expect: numbers by size, then other texts.
  // `renumber[code]` is a text's new place.
  [[nodiscard]] std::vector<std::string> sorted(std::vector<std::uint32_t>& renumber,
                                                char decimal_point) const;

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
