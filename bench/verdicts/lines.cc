// SPDX-License-Identifier: MIT
#include "bench/verdicts/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "stats/numbers/summary.h"

namespace stab::bench {
namespace {

const std::vector<std::size_t> two{2};
const std::vector<std::size_t> cube{2, 2, 2};

// The shift that makes the change of a typical or median unit 0, found from very many blocks or programs.
// What a block does to all programs is 0 on average, so it is no part of the truth of programs. Their
// own part of a block's effect counts as noise, which has the same distribution; so the noise must be
// normal.
double shift_of(World many, stats::Estimand estimand) {
  many.shift = 0;
  const bool programs = many.programs > 1;
  if (programs) {
    const double own = many.interaction * std::sqrt(0.5);  // as in simulate()
    many.noise = std::hypot(many.noise, own / std::sqrt(2.0));
    many.interaction = 0;
  }
  constexpr std::size_t units = 20'000;
  (programs ? many.programs : many.blocks) = units;
  const double trials = programs ? static_cast<double>(many.blocks) : 1;
  const stats::Dataset data = simulate(many, 0, 1);
  std::vector<double> differences(units);
  for (std::size_t row = 0; row < data.response.size(); ++row)
    differences[data.columns[programs ? 0 : 1].codes[row]] +=
        (data.columns[3].codes[row] == 0 ? -1 : 1) * std::log(data.response[row]) / trials;
  std::ranges::sort(differences);
  const std::size_t cut = estimand == stats::Estimand::median ? units / 2 - 1 : units / 5;
  const std::span<const double> kept(differences.begin() + static_cast<std::ptrdiff_t>(cut),
                                     differences.end() - static_cast<std::ptrdiff_t>(cut));
  return -stats::moments(kept).mean;
}

void add_factorial(std::vector<Line>& lines) {
  for (const double sd : {0.0, 0.01, 0.02, 0.04})
    lines.push_back({.name = fmt::format("2^3, 20 blocks, interaction {:.0f} %", 100 * sd),
                     .world = {.shape = cube, .interaction = sd},
                     .worst = sd == 0.04});
  for (const std::size_t n : {5UL, 50UL})
    lines.push_back({.name = fmt::format("two levels, {} replicates a block, interaction 2 %", n),
                     .world = {.shape = two, .replicates = n, .interaction = 0.02}});
  lines.push_back({.name = "two levels, 5 blocks, interaction 2 %",
                   .world = {.shape = two, .blocks = 5, .interaction = 0.02}});
  lines.push_back({.name = "eight levels, one with ten times the spread",
                   .world = {.shape = {8}, .wild_level = 10}});
  lines.push_back({.name = "list of three cells of four, interaction 2 %",
                   .world = {.kind = Kind::listed, .shape = {2, 2}, .interaction = 0.02}});
  lines.push_back({.name = "2^(4-1), interaction 2 %",
                   .world = {.kind = Kind::fraction, .shape = {2, 2, 2, 2}, .interaction = 0.02}});
  lines.push_back({.name = "no blocks, 20 a cell, one level with ten times the spread",
                   .world = {.kind = Kind::no_blocks, .shape = {3}, .wild_level = 10}});
}

void add_noises(std::vector<Line>& lines) {
  const auto add = [&](const char* name, Noise noise, Claim claim) {
    lines.push_back({.name = fmt::format("2^3, {} noise, interaction 1 %", name),
                     .world = {.shape = cube, .noise_kind = noise, .interaction = 0.01},
                     .claim = claim});
  };
  add("log-normal", Noise::log_normal, Claim::verdicts);
  add("bimodal", Noise::bimodal, Claim::verdicts);
  add("t2", Noise::t2, Claim::at_least);
  add("autocorrelated", Noise::autocorrelated, Claim::verdicts);
  lines.push_back({.name = "2^3, 20 blocks, noise with correlation 0.5 in each cell",
                   .world = {.shape = cube, .noise_kind = Noise::in_cells},
                   .claim = Claim::verdicts});
  for (const std::size_t blocks : {10UL, 20UL, 30UL, 60UL})
    lines.push_back(
        {.name = fmt::format("two levels, {} blocks, one layout in ten slow (4 %)", blocks),
         .world = {.shape = two, .blocks = blocks, .interaction = 0.04, .skewed = true},
         .claim = Claim::known_short});
}

void add_dependence(std::vector<Line>& lines) {
  struct Case {
    std::size_t blocks;
    double correlation;
    double most_wrong;
  };
  for (const Case& each :
       {Case{20, 0.5, 0.08}, Case{60, 0.5, 0.06}, Case{20, 0.9, 0.08}, Case{60, 0.9, 0.08}})
    lines.push_back({.name = fmt::format("two levels, {} blocks, interaction 2 % with correlation "
                                         "{:.1f} from block to block",
                                         each.blocks, each.correlation),
                     .world = {.shape = two,
                               .blocks = each.blocks,
                               .noise = 0.001,
                               .interaction = 0.02,
                               .correlation = each.correlation},
                     .claim = Claim::verdicts,
                     .most_wrong = each.most_wrong});
  for (const std::size_t blocks : {20UL, 60UL})
    lines.push_back({.name = fmt::format("two levels, {} blocks, interaction 2 % with correlation "
                                         "0.5 from block to block: the median",
                                         blocks),
                     .world = {.shape = two,
                               .blocks = blocks,
                               .noise = 0.001,
                               .interaction = 0.02,
                               .correlation = 0.5},
                     .claim = Claim::verdicts,
                     .most_wrong = blocks == 20 ? 0.08 : 0.06,
                     .estimand = stats::Estimand::median});
}

void add_tails(std::vector<Line>& lines) {
  const auto add = [&](std::string name, World world, stats::Estimand estimand) {
    world.shift = shift_of(world, estimand);
    name += estimand == stats::Estimand::median ? ": the median" : ": a typical run";
    lines.push_back(
        {.name = std::move(name), .world = world, .claim = Claim::verdicts, .estimand = estimand});
  };
  for (const std::size_t blocks : {10UL, 20UL, 40UL, 60UL}) {
    World slow{.shape = two, .blocks = blocks, .rare = 0.1, .rare_size = 0.2};
    const std::string name = fmt::format("two levels, {} blocks, one layout in ten + 20 %", blocks);
    add(name, slow, stats::Estimand::typical);
    add(name, slow, stats::Estimand::median);
    slow.rare_in_mean = true;
    lines.push_back({.name = name + ": the mean", .world = slow, .claim = Claim::known_short});
  }
  const World outliers{.shape = two, .blocks = 30, .noise_kind = Noise::outliers};
  lines.push_back({.name = "two levels, 30 blocks, one trial in 100 x 3: the mean",
                   .world = outliers,
                   .claim = Claim::verdicts});
  lines.push_back({.name = "two levels, 30 blocks, one trial in 100 x 3: a typical run",
                   .world = outliers,
                   .claim = Claim::verdicts,
                   .estimand = stats::Estimand::typical});
  lines.push_back({.name = "two levels, 30 blocks, one trial in 100 x 3: the median",
                   .world = outliers,
                   .claim = Claim::verdicts,
                   .estimand = stats::Estimand::median});
  const World rare{.shape = two, .blocks = 60, .interaction = 0.01, .rare = 0.01};
  World in_mean = rare;
  in_mean.rare_in_mean = true;
  lines.push_back({.name = "two levels, 60 blocks, one layout in 100 twice as slow: the mean",
                   .world = in_mean,
                   .claim = Claim::known_short});
  lines.push_back({.name = "two levels, 60 blocks, one layout in 100 twice as slow: a typical run",
                   .world = rare,
                   .claim = Claim::verdicts,
                   .estimand = stats::Estimand::typical});
  lines.push_back({.name = "two levels, 60 blocks, one layout in 100 twice as slow: the median",
                   .world = rare,
                   .claim = Claim::verdicts,
                   .estimand = stats::Estimand::median});
  lines.push_back({.name = "2^3, t2 noise, interaction 1 %: the median",
                   .world = {.shape = cube, .noise_kind = Noise::t2, .interaction = 0.01},
                   .claim = Claim::verdicts,
                   .estimand = stats::Estimand::median});
}

void add_families(std::vector<Line>& lines) {
  const World suite{.shape = two, .programs = 8, .interaction = 0.02};
  lines.push_back({.name = "8 programs, half of the interaction is common: any verdict of three "
                           "families",
                   .world = suite,
                   .claim = Claim::verdicts,
                   .most_wrong = 0.15,
                   .all_families = true});
  lines.push_back({.name = "programs like these 20, one in ten + 20 %: the mean",
                   .world = {.shape = two, .programs = 20, .blocks = 10, .rare_programs = 0.1},
                   .claim = Claim::known_short,
                   .programs = stats::Programs::like_these});
  World typical{.shape = two,
                .programs = 20,
                .blocks = 10,
                .interaction = 0.01,
                .between_programs = 0.01,
                .rare_programs = 0.1};
  // A fifth cut off at each end leaves the middle of the nine tenths unmoved, but for this.
  for (const auto estimand : {stats::Estimand::typical, stats::Estimand::median}) {
    typical.shift = shift_of(typical, estimand);
    lines.push_back({.name = estimand == stats::Estimand::typical
                                 ? "programs like these 20, one in ten + 20 %: a typical program"
                                 : "programs like these 20, one in ten + 20 %: the median program",
                     .world = typical,
                     .claim = Claim::verdicts,
                     .programs = stats::Programs::like_these,
                     .estimand = estimand});
  }
}

void add_loss(std::vector<Line>& lines) {
  for (const std::size_t blocks : {20UL, 60UL}) {
    const World slow{.shape = two, .blocks = blocks, .interaction = 0.01, .loses_slow = true};
    const std::string name =
        fmt::format("two levels, {} blocks, one level loses its slowest quarter", blocks);
    lines.push_back({.name = name + ": any number", .world = slow, .claim = Claim::verdicts});
    lines.push_back({.name = name + ": Lee's bounds",
                     .world = slow,
                     .claim = Claim::verdicts,
                     .losses = stats::Losses::monotone});
    lines.push_back(
        {.name = fmt::format("two levels, {} blocks, three layouts in ten time out", blocks),
         .world = {.shape = two,
                   .blocks = blocks,
                   .rare = 0.3,
                   .rare_in_mean = true,
                   .timeout = std::log(1.5)},
         .claim = Claim::verdicts});
  }
}

void add_programs(std::vector<Line>& lines) {
  const World four{
      .shape = two, .programs = 4, .interaction = 0.02, .between_programs = 0.02, .centred = true};
  lines.push_back(
      {.name = "these 4 programs, interaction 2 % of which half is common", .world = four});
  World none = four;
  none.between_programs = 0;
  lines.push_back(
      {.name = "each of 4 programs, interaction 2 %", .world = none, .each_program = true});
  World drawn = four;
  drawn.programs = 8;
  drawn.centred = false;
  lines.push_back({.name = "programs like these 8, which differ by 2 %",
                   .world = drawn,
                   .programs = stats::Programs::like_these});
  World levels = drawn;
  levels.shape = {4};
  levels.blocks = 5;
  levels.wild_level = 10;
  lines.push_back({.name = "programs like these 8, four levels without sphericity",
                   .world = levels,
                   .programs = stats::Programs::like_these});
}

// On these machines the truth is the mean of these, on machines like these that of all machines.
void add_machines(std::vector<Line>& lines) {
  for (const std::size_t machines : {3UL, 5UL, 8UL, 16UL})
    for (const double sd : {0.0, 0.01, 0.02, 0.04})
      for (const auto programs : {stats::Programs::these, stats::Programs::like_these}) {
        const bool these = programs == stats::Programs::these;
        lines.push_back({.name = fmt::format("{} {}, machine x treatment {:.0f} %",
                                             these ? "these machines" : "machines like these",
                                             machines, 100 * sd),
                         .world = {.shape = two,
                                   .programs = machines,
                                   .blocks = 8,
                                   .interaction = 0.01,
                                   .between_programs = sd,
                                   .centred = these,
                                   .machines = true},
                         .programs = programs});
      }
  for (const std::size_t machines : {4UL, 6UL, 9UL, 17UL})
    for (const auto programs : {stats::Programs::these, stats::Programs::like_these}) {
      const bool these = programs == stats::Programs::these;
      lines.push_back(
          {.name = fmt::format("{} {}, machine x treatment 1 %, one more at half speed",
                               these ? "these machines" : "machines like these", machines - 1),
           .world = {.shape = two,
                     .programs = machines,
                     .blocks = 8,
                     .interaction = 0.01,
                     .between_programs = 0.01,
                     .centred = these,
                     .machines = true,
                     .one_is_slow = true},
           .programs = programs});
    }
}

void add_seeds(std::vector<Line>& lines) {
  lines.push_back({.name = "nested: 10 seeds x 3 runs a cell, luck 2 %",
                   .world = {.kind = Kind::seeds,
                             .shape = {2, 2},
                             .blocks = 10,
                             .replicates = 3,
                             .wild_level = 5,
                             .interaction = 0.02}});
  lines.push_back({.name = "padding study: 8 seeds x 3 runs, luck 5 %",
                   .world = {.kind = Kind::padding,
                             .shape = two,
                             .blocks = 8,
                             .replicates = 3,
                             .interaction = 0.05}});
}

void add_stops(std::vector<Line>& lines) {
  plan::Stop precision{
      .rule = plan::StopRule::precision, .half_width = 0.008, .max = 60, .looks = {}};
  for (std::uint32_t b = 20; b < 60; ++b) precision.looks.push_back(b);
  plan::Stop sequential{.rule = plan::StopRule::sequential, .max = 40, .looks = {10, 20, 30}};
  const World world{.shape = {3}, .blocks = 60, .interaction = 0.02};
  lines.push_back({.name = "stop by precision (0.8 %), a look at each of 20 to 60 blocks",
                   .world = world,
                   .claim = Claim::at_least,
                   .stop = precision});
  World shorter = world;
  shorter.blocks = 40;
  lines.push_back({.name = "sequential stop, looks at 10, 20, 30, 40 blocks",
                   .world = shorter,
                   .claim = Claim::at_least,
                   .stop = sequential});
  lines.push_back({.name = "the same with 40 blocks for all", .world = shorter});
  const World three{.shape = two,
                    .programs = 3,
                    .blocks = 20,
                    .interaction = 0.01,
                    .between_programs = 0.02,
                    .centred = true,
                    .machines = true};
  sequential.max = 20;
  sequential.looks = {5, 10, 15};
  lines.push_back({.name = "these machines 3, sequential stop, looks at 5, 10, 15, 20 blocks each",
                   .world = three,
                   .claim = Claim::at_least,
                   .stop = sequential});
  precision.max = 40;
  precision.half_width = 0.004;
  std::erase_if(precision.looks, [](std::uint32_t blocks) { return blocks >= 40; });
  World longer = three;
  longer.blocks = 40;
  lines.push_back({.name = "these machines 3, stop by precision (0.4 %), 20 to 40 blocks each",
                   .world = longer,
                   .claim = Claim::at_least,
                   .stop = precision});
  World like = longer;
  like.programs = 5;
  like.blocks = 20;
  like.centred = false;
  lines.push_back({.name = "machines like these 5, sequential stop, looks at 5, 10, 15, 20 blocks "
                           "each",
                   .world = like,
                   .claim = Claim::at_least,
                   .programs = stats::Programs::like_these,
                   .stop = sequential});
}

void add_histories(std::vector<Line>& lines) {
  const auto add = [&](const char* name, Missing missing) {
    lines.push_back({.name = fmt::format("history of 1,000 experiments, {}: ever an alarm", name),
                     .world = {},
                     .claim = Claim::verdicts,
                     .history = missing});
  };
  add("all trials there", Missing::nothing);
  add("one trial in ten fails from some experiment on", Missing::at_random);
  add("one trial in twenty is disturbed and excluded", Missing::excluded);
  add("one trial in 200 is slow and times out", Missing::slow);
  add("the slowest twentieth times out from some experiment on", Missing::slow_later);
  add("a trial times out on each of the slowest days, one in 1,000", Missing::slow_days);
}

}  // namespace

std::vector<Line> all_lines() {
  std::vector<Line> lines;
  add_factorial(lines);
  add_noises(lines);
  add_dependence(lines);
  add_tails(lines);
  add_loss(lines);
  add_families(lines);
  add_programs(lines);
  add_machines(lines);
  add_seeds(lines);
  add_stops(lines);
  add_histories(lines);
  lines.push_back({.name = "2^3, no interaction: the pooled error, for its power",
                   .world = {.shape = cube},
                   .error = stats::Error::pooled});
  lines.push_back({.name = "2^3, interaction 4 %: the pooled error, as it was",
                   .world = {.shape = cube, .interaction = 0.04},
                   .claim = Claim::known_short,
                   .error = stats::Error::pooled});
  return lines;
}

}  // namespace stab::bench
