// SPDX-License-Identifier: MIT
// Fractional factorial designs 2^(k-p): a part of the cells, and which effects it cannot tell
// apart.
//
// An effect is a set of treatments as bits, as in terms.h. Each of the last p treatments is the
// product of some of the first k - p ones (its generator, with levels -1 and +1), so that treatment
// times generator is constant: a word. All products of words are the defining relation; effects
// that differ by a word are aliases: the design sees their sum only (Box, Hunter and Hunter:
// Statistics for experimenters, 1978, 12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::stats {

struct FractionalDesign {
  std::vector<std::string> treatments{};
  std::vector<std::uint32_t> generators{};  // of the last p treatments, in the first k - p
  std::vector<std::uint32_t> words{};       // the defining relation: 2^p - 1 words, shortest first
  std::size_t resolution = 0;               // length of the shortest word; 0 for a full design
  std::vector<std::vector<std::uint8_t>> cells{};  // level 0 or 1 of each treatment
};

// The generators are searched for: those with the largest resolution, and among them the fewest
// shortest words, then the next (minimum aberration; Fries and Hunter, Technometrics 1980).
// 1 to 10 treatments with different names, and 2^(k-p) > k cells, so that the resolution is III or
// more; else it says what is possible. p = 0 is the full design.
Result<FractionalDesign> fractional_design(std::span<const std::string> treatments, std::size_t p);

// The aliases of an effect, fewest treatments first.
std::vector<std::uint32_t> aliases(const FractionalDesign& design, std::uint32_t effect);

struct AliasRow {
  std::string effect{};                // "a", "a:b"
  std::vector<std::string> aliases{};  // "b:c", "a:c:d" ..: the effects that it stands for, too
};

// Of all main effects and two-treatment interactions; aliases of more than `longest` treatments are
// left out.
std::vector<AliasRow> alias_table(const FractionalDesign& design, std::size_t longest);

// "d = a:b:c" for each generator, then "I = a:b:c:d" with all words.
std::vector<std::string> defining_relation(const FractionalDesign& design);

}  // namespace stab::stats
