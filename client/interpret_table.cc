// SPDX-License-Identifier: MIT
#include "client/interpret_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>

#include "base/text.h"
#include "design/fractional.h"

namespace stab::client {
namespace {

struct Rule {
  const char* column;
  const char* text;    // the column's text in rows that are data
  const char* others;  // describes the other rows
};

// A row is left out by the first rule that it breaks: a warm-up that failed counts as a warm-up,
// and a repeated attempt as repeated, although it failed or was disturbed.
constexpr std::array rules{
    Rule{.column = "warmup", .text = "false", .others = "of warm-up trials"},
    Rule{.column = "last", .text = "true", .others = "of attempts that were repeated"},
    Rule{.column = "status",
         .text = "ok",
         .others = "of trials that failed, were skipped or were disturbed"},
};
constexpr const char* start = "started_ns";
constexpr std::array others{"position", "attempt", "block", "benchmark", "seed", "wall_ns", start};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool is_own_export(std::string_view text) {
  const auto header = stats::csv_header(text);
  if (!header) return false;
  const auto has = [&](const char* name) { return contains(*header, name); };
  return std::ranges::all_of(others, has) && std::ranges::all_of(rules, has, &Rule::column);
}

void ask_for_own_data(stats::CsvColumns& columns) {
  for (const Rule& rule : rules) {
    if (contains(columns.factors, rule.column) || columns.response == rule.column) continue;
    columns.only.push_back({.column = rule.column, .text = rule.text});
    if (rule.column != std::string_view("status")) continue;
    // A trial that timed out would have taken at least as long as it ran.
    columns.only.back().others_are_lost = true;
    columns.only.back().excluded = "disturbed";
    if (columns.response == "wall_ns") columns.only.back().at_least = "timeout";
  }
  if (columns.order.empty()) columns.order = start;
}

std::string own_rows_left_out(const stats::CsvColumns& columns,
                              std::span<const std::size_t> left_out) {
  std::size_t all = 0;
  std::string parts;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i] == 0) continue;
    all += left_out[i];
    const auto* const rule = std::ranges::find_if(
        rules, [&](const Rule& each) { return columns.only[i].column == each.column; });
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", left_out[i], rule->others);
  }
  if (all == 0) return "";
  return fmt::format("Left out: {} row{} of stabd's export ({}).", all, all == 1 ? "" : "s", parts);
}

namespace {

// The cells in the table; bit t of a cell is the level, 0 or 1, of treatment t. Nothing if a
// treatment does not have two levels.
std::optional<std::set<std::uint32_t>> two_level_cells(const stats::Dataset& data,
                                                       const stats::Spec& spec) {
  std::vector<const stats::Column*> columns;
  for (const std::string& name : spec.treatments) {
    columns.push_back(data.find(name));
    if (columns.back() == nullptr || columns.back()->levels.size() != 2) return std::nullopt;
  }
  std::set<std::uint32_t> cells;
  std::array<std::uint32_t, 64> known{};  // a cell each, plus 1, so that most rows need no search
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    std::uint32_t cell = 0;
    for (std::size_t t = 0; t < columns.size(); ++t) cell |= columns[t]->codes[row] << t;
    std::uint32_t& place = known[cell % known.size()];
    if (place != cell + 1) cells.insert(cell);
    place = cell + 1;
  }
  return cells;
}

// Finds the words (sets of treatments) whose product is the same in all cells, and reduces them
// until each has a treatment that no other word has: this treatment is the product of the word's
// others. Empty unless the table has all cells that the words allow.
std::vector<plan::Generator> found_generators(const std::set<std::uint32_t>& cells,
                                              std::size_t treatments) {
  std::vector<std::uint32_t> words;
  for (std::uint32_t word = 1; word < 1U << treatments; ++word) {
    const auto parity = [&](std::uint32_t cell) { return std::popcount(cell & word) % 2; };
    const int first = parity(*cells.begin());
    if (std::ranges::all_of(cells, [&](std::uint32_t cell) { return parity(cell) == first; }))
      words.push_back(word);
  }
  if (cells.size() * (words.size() + 1) != std::size_t{1} << treatments) return {};
  std::vector<plan::Generator> generators;
  for (std::size_t t = treatments; t-- > 0;) {
    const auto has = [t](std::uint32_t word) { return (word >> t & 1U) != 0; };
    const auto pivot = std::ranges::find_if(words, has);
    if (pivot == words.end()) continue;
    const std::uint32_t own = *pivot;
    std::erase(words, own);
    for (std::uint32_t& word : words)
      if (has(word)) word ^= own;
    for (plan::Generator& other : generators)
      if (has(other.product)) other.product ^= own;
    std::erase(words, 0U);
    generators.push_back({.treatment = t, .product = own ^ 1U << t});
  }
  return generators;
}

}  // namespace

Result<void> set_fraction(const std::vector<std::string>& generators, const stats::Dataset& data,
                          stats::Spec& spec, std::vector<std::string>& notes) {
  const std::size_t k = spec.treatments.size();
  const bool given = !generators.empty();
  if (spec.design != stats::Design::factorial || spec.error == stats::Error::pooled)
    return given ? wrong_call(
                       "--generators is for the trials of one program: --subject, --random and "
                       "--error pooled cannot be combined with it")
                 : Result<void>{};
  if (k < 3 || k > plan::max_fractional_treatments)
    return given ? wrong_call(fmt::format("--generators needs 3 to {} factors with two levels each",
                                          plan::max_fractional_treatments))
                 : Result<void>{};
  const auto cells = two_level_cells(data, spec);
  if (!cells)
    return given ? wrong_call("--generators: each factor in --factors needs exactly two levels")
                 : Result<void>{};
  if (cells->empty() || cells->size() == std::size_t{1} << k)
    return given ? wrong_call(
                       "--generators: the table has all combinations of levels, so all effects can "
                       "be told apart; leave the option out")
                 : Result<void>{};
  std::vector<plan::Generator> wanted;
  for (const std::string& text : generators) {
    auto generator = plan::read_generator(text, spec.treatments);
    if (!generator)
      return wrong_call("--generators " + one_line(text, 60) + ": " + generator.error().message);
    wanted.push_back(*generator);
  }
  if (!given) wanted = found_generators(*cells, k);
  if (wanted.empty()) return {};
  const auto design = plan::fractional_design(spec.treatments, wanted);
  if (!design)
    return given ? wrong_call("--generators: " + design.error().message) : Result<void>{};
  // A table may name levels the other way round, so a product may be -1 in all cells instead of +1.
  for (const plan::Generator& generator : design->generators) {
    const std::uint32_t word = generator.product | 1U << generator.treatment;
    const int first = std::popcount(*cells->begin() & word) % 2;
    for (const std::uint32_t cell : *cells)
      if (std::popcount(cell & word) % 2 != first)
        return wrong_call(fmt::format(
            "--generators: the table has cells that the generator {} = {} does not allow",
            spec.treatments[generator.treatment],
            plan::effect_name(generator.product, spec.treatments)));
  }
  for (const auto& chain : plan::alias_chains(*design))
    spec.chains.push_back(
        {.effect = chain.front(),
         .aliases = plan::alias_text(std::span(chain).subspan(1), design->treatments)});
  notes.push_back(fmt::format(
      "The table contains a fraction of all combinations of the factors' levels: {}.{}",
      fmt::join(plan::defining_relation(*design), ", "),
      given ? "" : " If you used a different design, describe it with '--generators'."));
  return {};
}

// A seed that appears in several cells may be one draw that these cells share, or a number that
// each of them uses for its own draw.
Result<void> set_seeds(const std::string& seeds_are, const stats::Dataset& data,
                       stats::Spec& spec) {
  if (spec.design != stats::Design::nested || seeds_are == "nested") return {};
  const stats::Column* seeds = data.find(spec.seed);
  if (seeds == nullptr) return {};
  if (seeds_are == "auto") {
    std::vector<std::set<std::vector<std::uint32_t>>> cells(seeds->levels.size());
    std::size_t shared = 0;
    for (std::size_t row = 0; row < data.response.size(); ++row) {
      std::vector<std::uint32_t> cell;
      for (const std::string& name : spec.treatments) {
        const stats::Column* column = data.find(name);
        cell.push_back(column == nullptr ? 0 : column->codes[row]);
      }
      auto& own = cells[seeds->codes[row]];
      if (own.size() < 2 && own.insert(std::move(cell)).second && own.size() == 2) ++shared;
    }
    if (shared == 0) return {};
    return wrong_call(
        fmt::format("{} of the {} seeds in {} have trials in several cells, which can mean two "
                    "things. If a seed is one layout that several cells share, use '--seeds "
                    "crossed': cells are then compared within each seed. If each cell drew its own "
                    "layouts and the seeds are only labels, use '--seeds nested'",
                    shared, seeds->levels.size(), one_line(spec.seed, 60)));
  }
  spec.design = spec.subject.empty() ? stats::Design::factorial : stats::Design::within_subjects;
  spec.block = spec.seed;
  spec.seed.clear();
  // Seeds are not in the order of time, so neighbours are not correlated.
  spec.independent_blocks = true;
  return {};
}

}  // namespace stab::client
