// SPDX-License-Identifier: MIT
// Are verdicts as seldom wrong as reports say? Simulates experiments whose truth is known, analyses
// them by the functions that reports and the daemon call, and prints a table:
//   build/bench/soundness                 2,000 experiments a line, 10,000 for the worst (minutes)
//   build/bench/soundness --experiments 200 [--only TEXT]
//   build/bench/soundness --through build/bin/stabctl    'stabctl analyze' says the same of the
//   data
// Ends with 1 if a line misses what it is held to by more than chance does in one of a hundred runs
// of the whole table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "bench/verdicts/lines.h"
#include "bench/verdicts/through.h"
#include "stabd/results/stopping.h"
#include "stats/analyse/analyse.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/calibration.h"
#include "stats/verdicts/decide.h"

namespace {

using namespace stab;
using bench::Claim;
using bench::Line;

constexpr double margin = 0.01;

stats::Spec spec_of(const Line& line) {
  stats::Spec spec = bench::spec_of(line.world);
  spec.equivalence = margin;
  spec.programs = line.programs;
  spec.error = line.error;
  spec.estimand = line.estimand;
  if (line.each_program) spec.design = stats::Design::factorial;
  return spec;
}

// As the daemon: asked at each look, and the report is of the trials that are there then.
stats::Analysis analysed(const Line& line, const stats::Dataset& data) {
  if (!line.stop) return stats::analyse(data, spec_of(line));
  std::vector<std::uint32_t> looks = line.stop->looks;
  looks.push_back(line.stop->max);
  for (const std::uint32_t blocks : looks) {
    stats::Spec spec = spec_of(line);
    results::control_error(spec, *line.stop, blocks);
    auto analysis = stats::analyse(bench::first_blocks(data, blocks), spec);
    if (blocks == line.stop->max || results::look(analysis, *line.stop, blocks).stop)
      return analysis;
  }
  return {};
}

struct Counts {
  std::size_t experiments = 0;
  std::size_t wrong = 0;       // nothing differs: a verdict that something does
  std::size_t same = 0;        // all changes are the margin: 'same', or the wrong direction
  std::size_t wrong_sign = 0;  // all are twice the margin: the wrong direction
  std::size_t found = 0;       // of these comparisons, those that are found
  std::size_t comparisons = 0;
  std::size_t intervals = 0;
  std::size_t covered = 0;
  double half_widths = 0;
};

bool any(const std::vector<const stats::Effect*>& effects, std::vector<stats::Verdict> verdicts) {
  return std::ranges::any_of(effects, [&](const stats::Effect* effect) {
    return std::ranges::find(verdicts, effect->verdict) != verdicts.end();
  });
}

void count_coverage(const std::vector<const stats::Effect*>& effects, double change,
                    Counts& counts) {
  for (const stats::Effect* effect : effects) {
    if (!effect->low) continue;
    ++counts.intervals;
    const double truth = std::exp(change);
    counts.covered += *effect->low <= truth && truth <= *effect->high ? 1 : 0;
    counts.half_widths += (*effect->high - *effect->low) / 2;
  }
}

Counts run(const Line& line, std::size_t experiments) {
  using stats::Verdict;
  Counts counts{.experiments = experiments};
  const double at_margin = std::log1p(margin);
  for (std::uint64_t seed = 1; seed <= experiments; ++seed) {
    const auto nothing = analysed(line, bench::simulate(line.world, 0, 3 * seed));
    const auto effects = stats::deciding_effects(nothing);
    counts.wrong += any(effects, {Verdict::faster, Verdict::slower}) ? 1 : 0;
    count_coverage(effects, 0, counts);
    const auto edge = analysed(line, bench::simulate(line.world, at_margin, 3 * seed + 1));
    counts.same += any(stats::deciding_effects(edge), {Verdict::same, Verdict::faster}) ? 1 : 0;
    const auto twice = analysed(line, bench::simulate(line.world, 2 * at_margin, 3 * seed + 2));
    const auto clear = stats::deciding_effects(twice);
    counts.wrong_sign += any(clear, {Verdict::faster}) ? 1 : 0;
    counts.comparisons += clear.size();
    counts.found += static_cast<std::size_t>(
        std::ranges::count(clear, Verdict::slower, &stats::Effect::verdict));
  }
  return counts;
}

// Whether the share is surely on the wrong side of the limit: one of `tests` such tests fails by
// chance in a hundredth of all runs.
bool exceeds(std::size_t count, std::size_t n, double limit, std::size_t tests) {
  const auto interval = stats::binomial_interval(count, n, 2 * 0.01 / static_cast<double>(tests));
  return interval && interval->low > limit;
}
bool falls_short(std::size_t count, std::size_t n, double limit, std::size_t tests) {
  return exceeds(n - count, n, 1 - limit, tests);
}

// Intervals of one experiment hold or miss together to some degree, so they count as its number.
std::vector<std::string> failures(const Line& line, const Counts& counts, std::size_t tests) {
  std::vector<std::string> result;
  if (line.claim == Claim::known_short) return result;
  const std::size_t n = counts.experiments;
  if (exceeds(counts.wrong, n, line.most_wrong, tests)) result.emplace_back("wrong verdicts");
  if (exceeds(counts.same, n, 0.05, tests)) result.emplace_back("same at the margin");
  if (exceeds(counts.wrong_sign, n, 0.025, tests)) result.emplace_back("wrong sign");
  const double share = static_cast<double>(counts.covered) / static_cast<double>(counts.intervals);
  const auto covered = static_cast<std::size_t>(std::lround(share * static_cast<double>(n)));
  if (line.claim == Claim::verdicts) return result;
  if (falls_short(covered, n, 0.94, tests)) result.emplace_back("coverage too low");
  if (line.claim == Claim::exact && exceeds(covered, n, 0.97, tests))
    result.emplace_back("coverage too high");
  return result;
}

double percent(std::size_t count, std::size_t n) {
  return n == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(n);
}

void print_row(const Line& line, const Counts& c, const std::vector<std::string>& failed) {
  fmt::print("| {} | {} | {:.2f} | {:.1f} | {:.2f} | {:.2f} | {:.2f} | {:.0f} |{}\n", line.name,
             c.experiments, percent(c.wrong, c.experiments), percent(c.covered, c.intervals),
             100 * c.half_widths / static_cast<double>(std::max<std::size_t>(1, c.intervals)),
             percent(c.same, c.experiments), percent(c.wrong_sign, c.experiments),
             percent(c.found, c.comparisons),
             failed.empty() ? "" : fmt::format(" <- {}", fmt::join(failed, ", ")));
  std::fflush(stdout);
}

int simulate_all(std::size_t experiments, const std::string& only) {
  std::vector<Line> lines = bench::all_lines();
  std::erase_if(lines, [&](const Line& line) { return !line.name.contains(only); });
  fmt::print(
      "| experiments | number | wrong verdict where nothing differs, % | own 95 % intervals hold, "
      "% | half width, % | same at the margin, % | wrong sign at twice the margin, % | found at "
      "twice the margin, % |\n|---|---|---|---|---|---|---|---|\n");
  bool sound = true;
  for (const Line& line : lines) {
    const Counts counts = run(line, line.worst ? 5 * experiments : experiments);
    const auto failed = failures(line, counts, 5 * lines.size());
    print_row(line, counts, failed);
    sound = sound && failed.empty();
  }
  return sound ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Simulates how often verdicts are wrong and how often intervals hold."};
  std::size_t experiments = 2000;
  std::string only;
  std::string through;
  app.add_option("--experiments", experiments, "A line; the worst one gets five times as many")
      ->capture_default_str();
  app.add_option("--only", only, "Lines whose name has this text");
  app.add_option("--through", through,
                 "A stabctl: ask its 'analyze' as well, and compare what it says");
  CLI11_PARSE(app, argc, argv);
  if (through.empty()) return simulate_all(experiments, only);
  int wrong = 0;
  for (const Line& line : bench::all_lines())
    if (!line.stop && line.world.kind != bench::Kind::fraction &&
        line.world.kind != bench::Kind::padding && line.name.contains(only))
      wrong += bench::compare_through(through, line, spec_of(line), experiments);
  return wrong == 0 ? 0 : 1;
}
