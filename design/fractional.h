// SPDX-License-Identifier: MIT
// Fractional factorial designs 2^(k-p): a part of the cells, and which effects it cannot tell
// apart.
//
// An effect is a set of treatments as bits. Each of p treatments is the product of some of the
// other k - p ones (its generator, with levels -1 and +1), so that treatment times generator is
// constant: a word. All products of words are the defining relation; effects that differ by a word
// are aliases: the design sees their sum only (Box, Hunter and Hunter: Statistics for
// experimenters, 1978, 12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace stab::plan {

inline constexpr std::size_t max_fractional_treatments = 10;

struct FractionalDesign {
  std::vector<std::string> treatments{};
  std::vector<Generator> generators{};
  std::vector<std::uint32_t> words{};  // the defining relation: 2^p - 1 words, shortest first
  std::size_t resolution = 0;          // length of the shortest word; 0 for a full design
  std::vector<std::vector<std::uint8_t>> cells{};  // level 0 or 1 of each treatment
};

// The generators, of the last p treatments, are searched for: those with the largest resolution,
// and among them the fewest shortest words, then the next (minimum aberration; Fries and Hunter,
// Technometrics 1980). 1 to 10 treatments with different names, and 2^(k-p) > k cells, so that the
// resolution is III or more; else it says what is possible. p = 0 is the full design.
Result<FractionalDesign> fractional_design(std::span<const std::string> treatments, std::size_t p);

// The smallest of these that has the resolution or a higher one. If there is none but the full
// design, that is said.
Result<FractionalDesign> fractional_of_resolution(std::span<const std::string> treatments,
                                                  std::size_t resolution);

// With the user's generators: each of a treatment of its own, products of two or more treatments
// that have none, no two the same.
Result<FractionalDesign> fractional_design(std::span<const std::string> treatments,
                                           std::span<const Generator> generators);

// "d = a:b:c"
Result<Generator> read_generator(std::string_view text, std::span<const std::string> treatments);

// The aliases of an effect, fewest treatments first.
std::vector<std::uint32_t> aliases(const FractionalDesign& design, std::uint32_t effect);

// All that the design can tell apart, each with its aliases behind it: fewest treatments first,
// within a chain and among them. As many as there are cells, less one.
std::vector<std::vector<std::uint32_t>> alias_chains(const FractionalDesign& design);

// "a:b"
std::string effect_name(std::uint32_t effect, std::span<const std::string> treatments);

// "c:d, a:e" and, of the many that there can be, how many more.
std::string alias_text(std::span<const std::uint32_t> aliases,
                       std::span<const std::string> treatments);

// The design of a plan of that kind; nothing for others.
std::optional<FractionalDesign> fraction(const Plan& plan);

// "d = a:b:c" for each generator, then "I = a:b:c:d" with all words.
std::vector<std::string> defining_relation(const FractionalDesign& design);

}  // namespace stab::plan
