// SPDX-License-Identifier: MIT
#include "design/fractional.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "design/trial_list.h"

namespace stab::plan {
namespace {

constexpr std::size_t most = max_fractional_treatments;
using Lengths = std::array<std::size_t, most + 1>;  // the number of words of each length

std::size_t length(std::uint32_t word) {
  return static_cast<std::size_t>(std::popcount(word));
}

// Adds a new word, and its products with all words so far.
void add_word(std::vector<std::uint32_t>& words, std::uint32_t word) {
  const std::size_t before = words.size();
  words.push_back(word);
  for (std::size_t i = 0; i < before; ++i) words.push_back(words[i] ^ word);
}

// A depth-first search over all sets of generators. Its order is fixed, so that the result is
// always the same.
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
    // Words are only ever added, so a set that is already worse stays worse.
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

std::uint32_t word_of(const Generator& generator) {
  return generator.product | 1U << generator.treatment;
}

std::vector<std::vector<std::uint8_t>> cells_of(std::size_t k,
                                                std::span<const Generator> generators) {
  std::uint32_t generated = 0;
  for (const Generator& generator : generators) generated |= 1U << generator.treatment;
  std::vector<std::vector<std::uint8_t>> cells;
  for (std::uint32_t run = 0; run < 1U << (k - generators.size()); ++run) {
    std::vector<std::uint8_t> levels(k);
    std::uint32_t high = 0;  // the treatments at their second level
    std::size_t next = 0;
    for (std::size_t t = 0; t < k; ++t)
      if ((generated >> t & 1) == 0 && (run >> next++ & 1) != 0) high |= 1U << t;
    for (const Generator& generator : generators)  // low if an odd number of its factors are low
      if ((length(generator.product) - length(generator.product & high)) % 2 == 0)
        high |= 1U << generator.treatment;
    for (std::size_t t = 0; t < k; ++t) levels[t] = high >> t & 1;
    cells.push_back(std::move(levels));
  }
  return cells;
}

Result<void> check_treatments(std::span<const std::string> treatments, std::size_t p) {
  const std::size_t k = treatments.size();
  if (k < 1 || k > most) return fail("a fractional design needs 1 to 10 treatments");
  if (std::set<std::string>(treatments.begin(), treatments.end()).size() != k)
    return fail("the treatments of a fractional design need different names");
  if (p >= k || (std::size_t{1} << (k - p)) <= k)
    return fail(fmt::format(
        "{} treatments need more than {} cells to tell their main effects apart", k, k));
  return {};
}

Result<void> check_generators(std::span<const std::string> treatments,
                              std::span<const Generator> generators) {
  std::uint32_t generated = 0;
  for (const Generator& generator : generators) {
    if ((generated >> generator.treatment & 1) != 0)
      return fail(fmt::format("the treatment '{}' has two generators: remove one",
                              treatments[generator.treatment]));
    generated |= 1U << generator.treatment;
  }
  std::set<std::uint32_t> products;
  for (const Generator& generator : generators) {
    const std::string& name = treatments[generator.treatment];
    if (length(generator.product) < 2)
      return fail(
          fmt::format("the generator of '{}' must be a product of at least two treatments", name));
    if ((generator.product & generated) != 0)
      return fail(fmt::format(
          "the generator of '{}' contains '{}', which has a generator itself: use treatments "
          "without generators",
          name,
          treatments[static_cast<std::size_t>(std::countr_zero(generator.product & generated))]));
    if (!products.insert(generator.product).second)
      return fail(
          fmt::format("two treatments have the generator {}, so their main effects cannot "
                      "be told apart: change one generator",
                      effect_name(generator.product, treatments)));
  }
  return {};
}

}  // namespace

Result<FractionalDesign> fractional_design(std::span<const std::string> treatments,
                                           std::span<const Generator> generators) {
  if (auto good = check_treatments(treatments, generators.size()); !good)
    return std::unexpected(good.error());
  if (auto good = check_generators(treatments, generators); !good)
    return std::unexpected(good.error());
  FractionalDesign design{.treatments = {treatments.begin(), treatments.end()},
                          .generators = {generators.begin(), generators.end()}};
  for (const Generator& generator : generators) add_word(design.words, word_of(generator));
  sort_words(design.words);
  if (!design.words.empty()) design.resolution = length(design.words.front());
  design.cells = cells_of(treatments.size(), generators);
  return design;
}

Result<FractionalDesign> fractional_design(std::span<const std::string> treatments, std::size_t p) {
  if (auto good = check_treatments(treatments, p); !good) return std::unexpected(good.error());
  const std::size_t base = treatments.size() - p;
  std::vector<Generator> generators;
  if (p > 0)
    for (const std::uint32_t product : Search(base, p).run())
      generators.push_back({.treatment = base + generators.size(), .product = product});
  return fractional_design(treatments, generators);
}

Result<FractionalDesign> fractional_of_resolution(std::span<const std::string> treatments,
                                                  std::size_t resolution) {
  if (auto good = check_treatments(treatments, 0); !good) return std::unexpected(good.error());
  for (std::size_t p = treatments.size(); p-- > 1;) {
    auto design = fractional_design(treatments, p);
    if (design && design->resolution >= resolution) return design;
  }
  return fail(
      fmt::format("a fractional design of {} treatments cannot have resolution {}: use a "
                  "resolution of at most {}, or a full-factorial design",
                  treatments.size(), resolution, treatments.size()));
}

Result<Generator> read_generator(std::string_view text, std::span<const std::string> treatments) {
  const auto find = [&](std::string_view word) -> Result<std::size_t> {
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    const auto found = std::ranges::find(treatments, word);
    if (found == treatments.end())
      return fail(fmt::format("'{}' is not a treatment of this plan: write \"d = a:b:c\"",
                              one_line(word, 64)));
    return static_cast<std::size_t>(found - treatments.begin());
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return fail("a generator must look like \"d = a:b:c\"");
  const auto treatment = find(text.substr(0, equals));
  if (!treatment) return std::unexpected(treatment.error());
  Generator generator{.treatment = *treatment};
  for (std::string_view rest = text.substr(equals + 1);;) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const auto factor = find(rest.substr(0, colon));
    if (!factor) return std::unexpected(factor.error());
    generator.product ^= 1U << *factor;  // a treatment that occurs twice cancels out
    if (colon == rest.size()) return generator;
    rest.remove_prefix(colon + 1);
  }
}

std::vector<std::uint32_t> aliases(const FractionalDesign& design, std::uint32_t effect) {
  std::vector<std::uint32_t> result;
  for (const std::uint32_t word : design.words) result.push_back(word ^ effect);
  sort_words(result);
  return result;
}

std::vector<std::vector<std::uint32_t>> alias_chains(const FractionalDesign& design) {
  std::vector<std::uint32_t> effects(std::size_t{1} << design.treatments.size());
  for (std::uint32_t i = 0; i < effects.size(); ++i) effects[i] = i;
  sort_words(effects);
  std::vector<bool> seen(effects.size());
  seen[0] = true;
  for (const std::uint32_t word : design.words) seen[word] = true;  // constant in this design
  std::vector<std::vector<std::uint32_t>> chains;
  for (const std::uint32_t effect : effects) {
    if (seen[effect]) continue;
    std::vector<std::uint32_t>& chain = chains.emplace_back(1, effect);
    std::ranges::copy(aliases(design, effect), std::back_inserter(chain));
    for (const std::uint32_t each : chain) seen[each] = true;
  }
  return chains;
}

std::optional<FractionalDesign> fraction(const Plan& plan) {
  if (plan.design.kind != DesignKind::fractional) return std::nullopt;
  std::vector<std::string> names;
  for (const std::size_t index : treatments(plan)) names.push_back(plan.factors[index].name);
  auto design = fractional_design(names, plan.design.generators);
  return design ? std::optional(*std::move(design)) : std::nullopt;
}

std::string effect_name(std::uint32_t effect, std::span<const std::string> treatments) {
  std::string text;
  for (std::size_t i = 0; i < treatments.size(); ++i)
    if ((effect >> i & 1) != 0) text += (text.empty() ? "" : ":") + treatments[i];
  return text;
}

std::string alias_text(std::span<const std::uint32_t> aliases,
                       std::span<const std::string> treatments) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, aliases.size()); ++i)
    text += (i == 0 ? "" : ", ") + effect_name(aliases[i], treatments);
  if (aliases.size() > shown) text += fmt::format(" and {} more", aliases.size() - shown);
  return text;
}

std::vector<std::string> defining_relation(const FractionalDesign& design) {
  std::vector<std::string> lines;
  for (const Generator& generator : design.generators)
    lines.push_back(design.treatments[generator.treatment] + " = " +
                    effect_name(generator.product, design.treatments));
  std::string relation = "I";
  for (const std::uint32_t word : design.words)
    relation += " = " + effect_name(word, design.treatments);
  if (!design.words.empty()) lines.push_back(relation);
  return lines;
}

}  // namespace stab::plan
