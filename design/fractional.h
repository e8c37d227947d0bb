// SPDX-License-Identifier: MIT
// Fractional factorial designs 2^(k-p): a subset of the cells, and the effects that it cannot tell
// apart.
//
// An effect is a set of treatments, stored as bits. With levels -1 and +1, each of p treatments is
// the product of some of the other k - p treatments, which is its generator. The product of such a
// treatment and its generator is constant; it is called a word. The defining relation consists of
// all products of words. Effects that differ by a word are aliases: the design sees only their sum
// (Box, Hunter and Hunter: Statistics for experimenters, 1978, 12).
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

// Searches for generators of the last p treatments with the largest resolution, and among them for
// those with the fewest shortest words, then the fewest words of the next length, and so on
// (minimum aberration; Fries and Hunter, Technometrics 1980). Returns an error unless there are 1
// to 10 treatments with different names and 2^(k-p) > k cells, so that the resolution is III or
// more. p = 0 is the full design.
Result<FractionalDesign> fractional_design(std::span<const std::string> treatments, std::size_t p);

// The smallest of these designs that has at least this resolution. Returns an error if only the
// full design has it.
Result<FractionalDesign> fractional_of_resolution(std::span<const std::string> treatments,
                                                  std::size_t resolution);

// A design with the user's generators. Each belongs to a different treatment and is a product of
// two or more treatments without generators, and no two products are the same.
Result<FractionalDesign> fractional_design(std::span<const std::string> treatments,
                                           std::span<const Generator> generators);

// Parses "d = a:b:c".
Result<Generator> read_generator(std::string_view text, std::span<const std::string> treatments);

// The aliases of an effect, fewest treatments first.
std::vector<std::uint32_t> aliases(const FractionalDesign& design, std::uint32_t effect);

// All effects that the design can tell apart, each followed by its aliases. Effects with fewer
// treatments come first, both within a chain and among the chains. There is one chain fewer than
// cells.
std::vector<std::vector<std::uint32_t>> alias_chains(const FractionalDesign& design);

// The name of an effect: "a:b".
std::string effect_name(std::uint32_t effect, std::span<const std::string> treatments);

// Lists the first aliases and counts the rest: "c:d, a:e and 3 more".
std::string alias_text(std::span<const std::uint32_t> aliases,
                       std::span<const std::string> treatments);

// The design of a fractional plan; nullopt for other plans.
std::optional<FractionalDesign> fraction(const Plan& plan);

// One line for each generator, "d = a:b:c", and then a line with all words, "I = a:b:c:d".
std::vector<std::string> defining_relation(const FractionalDesign& design);

}  // namespace stab::plan
