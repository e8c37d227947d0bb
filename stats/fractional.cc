// SPDX-License-Identifier: MIT
#include "stats/fractional.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>

#include "stats/terms.h"

namespace stab::stats {
namespace {

constexpr std::size_t most = 10;
using Lengths = std::array<std::size_t, most + 1>;  // how many words have each length

std::size_t length(std::uint32_t word) {
  return static_cast<std::size_t>(std::popcount(word));
}

// All products of the words so far with a new one, and the new one itself.
void add_word(std::vector<std::uint32_t>& words, std::uint32_t word) {
  const std::size_t before = words.size();
  words.push_back(word);
  for (std::size_t i = 0; i < before; ++i) words.push_back(words[i] ^ word);
}

// Depth first over all sets of generators, in a fixed order, so that the result is always the same.
class Search {
 public:
  Search(std::size_t base, std::size_t added) : base_(base), added_(added) {
    for (std::uint32_t mask = 1; mask < 1U << base; ++mask)
      if (length(mask) >= 2) candidates_.push_back(mask);
    std::ranges::sort(candidates_, {}, [](std::uint32_t mask) {
      return std::pair(most - length(mask), mask);  // longest first
    });
    best_.fill(0);
  }

  std::vector<std::uint32_t> run() {
    choose(0, {}, {}, Lengths{});
    return found_;
  }

 private:
  void choose(std::size_t first, std::vector<std::uint32_t> chosen,
              const std::vector<std::uint32_t>& words, const Lengths& lengths) {
    // Words are only added: a set that is already worse stays worse.
    if (!found_.empty() && lengths >= best_) return;
    if (chosen.size() == added_) {
      best_ = lengths;
      found_ = chosen;
      return;
    }
    const std::uint32_t treatment = 1U << (base_ + chosen.size());
    chosen.push_back(0);
    for (std::size_t i = first; i < candidates_.size(); ++i) {
      chosen.back() = candidates_[i];
      std::vector<std::uint32_t> more = words;
      add_word(more, candidates_[i] | treatment);
      Lengths with = lengths;
      for (std::size_t w = words.size(); w < more.size(); ++w) ++with[length(more[w])];
      choose(i + 1, chosen, more, with);
    }
  }

  std::size_t base_;
  std::size_t added_;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::uint32_t> found_;
  Lengths best_{};
};

void sort_words(std::vector<std::uint32_t>& words) {
  std::ranges::sort(words, {}, [](std::uint32_t word) { return std::pair(length(word), word); });
}

std::vector<std::vector<std::uint8_t>> cells_of(std::size_t base,
                                                std::span<const std::uint32_t> generators) {
  std::vector<std::vector<std::uint8_t>> cells;
  for (std::uint32_t run = 0; run < 1U << base; ++run) {
    std::vector<std::uint8_t> levels;
    for (std::size_t t = 0; t < base; ++t) levels.push_back(run >> t & 1);
    for (const std::uint32_t generator : generators)  // an odd number of low levels is low
      levels.push_back((length(generator) - length(generator & run)) % 2 == 0 ? 1 : 0);
    cells.push_back(std::move(levels));
  }
  return cells;
}

std::string product(std::span<const std::uint32_t> words, std::span<const std::string> names) {
  std::string text;
  for (const std::uint32_t word : words)
    text += (text.empty() ? "" : " = ") + term_name(word, names);
  return text;
}

}  // namespace

Result<FractionalDesign> fractional_design(std::span<const std::string> treatments, std::size_t p) {
  const std::size_t k = treatments.size();
  if (k < 1 || k > most) return fail("a fractional design needs 1 to 10 treatments");
  if (std::set<std::string>(treatments.begin(), treatments.end()).size() != k)
    return fail("the treatments of a fractional design need different names");
  if (p >= k || (std::size_t{1} << (k - p)) <= k)
    return fail(fmt::format(
        "{} treatments need more than {} cells to tell their main effects apart", k, k));
  const std::size_t base = k - p;
  FractionalDesign design{.treatments = {treatments.begin(), treatments.end()}};
  if (p > 0) design.generators = Search(base, p).run();
  for (std::size_t i = 0; i < p; ++i)
    add_word(design.words, design.generators[i] | 1U << (base + i));
  sort_words(design.words);
  if (p > 0) design.resolution = length(design.words.front());
  design.cells = cells_of(base, design.generators);
  return design;
}

std::vector<std::uint32_t> aliases(const FractionalDesign& design, std::uint32_t effect) {
  std::vector<std::uint32_t> result;
  for (const std::uint32_t word : design.words) result.push_back(word ^ effect);
  sort_words(result);
  return result;
}

std::vector<AliasRow> alias_table(const FractionalDesign& design, std::size_t longest) {
  const std::vector<std::size_t> shape(design.treatments.size(), 2);
  std::vector<AliasRow> rows;
  for (const std::uint32_t effect : all_terms(shape, 2)) {
    AliasRow row{.effect = term_name(effect, design.treatments)};
    for (const std::uint32_t alias : aliases(design, effect))
      if (alias == 0)
        row.aliases.emplace_back("I");
      else if (length(alias) <= longest)
        row.aliases.push_back(term_name(alias, design.treatments));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> defining_relation(const FractionalDesign& design) {
  std::vector<std::string> lines;
  const std::size_t base = design.treatments.size() - design.generators.size();
  for (std::size_t i = 0; i < design.generators.size(); ++i)
    lines.push_back(design.treatments[base + i] + " = " +
                    term_name(design.generators[i], design.treatments));
  if (!design.words.empty()) lines.push_back("I = " + product(design.words, design.treatments));
  return lines;
}

}  // namespace stab::stats
