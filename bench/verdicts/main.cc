// SPDX-License-Identifier: MIT
// Measures whether verdicts are wrong as rarely as reports say. Simulates experiments whose truth
// is known, asks `stabctl analyze` about each of them (or the functions that it calls), and prints
// a table:
//   build/bench/soundness                                2,000 experiments for each line, with the
//                                                        functions
//   build/bench/soundness --command build/bin/stabctl    the same with the command
//   build/bench/soundness --command build/bin/stabctl --results FILE --table doc/statistics.md
//     the campaign: FILE keeps the results, a later start continues, and the table of the page is
//     made from the results
//   build/bench/soundness --experiments 200 [--only TEXT]
//   build/bench/soundness --through build/bin/stabctl    compares the command with the functions on
//                                                        the same data
// A table of numbers can't contain stopping rules, fractions, padding studies and histories, so the
// functions analyze the experiments of these lines. --commits makes histories shorter than the
// table says. Exits with 1 if a line misses its goal by so much that chance alone would do this in
// only one of a hundred runs of the whole table.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "bench/verdicts/lines.h"
#include "bench/verdicts/through.h"
#include "results/stopping.h"
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
  spec.losses = line.losses;
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

// How verdicts are asked for, and how far the campaign goes.
struct Setup {
  std::string stabctl{};  // "": the functions
  std::string folder{};
  std::string results{};  // file of what is done; "": nothing is kept
  std::string table{};    // page whose table is replaced
  std::string only{};
  std::size_t experiments = 2000;
  std::size_t commits = 1000;
};

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
  // Student's error of independent blocks, without a randomization test and bounds of losses.
  std::size_t wrong_before = 0;
  std::size_t found_before = 0;
  std::size_t intervals_before = 0;
  double half_widths_before = 0;

  // Each number, in the order of the file of results.
  template <class Visitor>
  void visit(Visitor visitor) {
    for (std::size_t* n : {&experiments, &wrong, &same, &wrong_sign, &found, &comparisons,
                           &intervals, &covered, &wrong_before, &found_before, &intervals_before})
      visitor(*n);
    visitor(half_widths);
    visitor(half_widths_before);
  }
};

using Effects = std::vector<stats::Effect>;

// Those that the line is about.
Effects deciding(const Line& line, Effects effects) {
  if (line.all_families) return effects;
  const bool single = line.world.programs == 1 || line.each_program;
  const stats::Scope scope = single                                    ? stats::Scope::subject
                             : line.programs == stats::Programs::these ? stats::Scope::these
                                                                       : stats::Scope::like_these;
  std::erase_if(effects, [&](const stats::Effect& effect) { return effect.scope != scope; });
  return effects;
}

Effects answers(const Line& line, const Setup& setup, const stats::Dataset& data) {
  if (setup.stabctl.empty() || !bench::has_command(line))
    return deciding(line, analysed(line, data).effects);
  auto effects = bench::effects_through(setup.stabctl, setup.folder, line, spec_of(line), data);
  if (!effects || effects->empty()) {
    fmt::print(stderr, "soundness: {} says nothing of an experiment of '{}'\n", setup.stabctl,
               line.name);
    std::exit(2);
  }
  return deciding(line, std::move(*effects));
}

bool has_before(const Line& line) {
  return !line.stop && !line.history && line.error == stats::Error::own &&
         !spec_of(line).block.empty();
}

Effects answers_before(const Line& line, const stats::Dataset& data) {
  stats::Spec spec = spec_of(line);
  spec.independent_blocks = true;
  spec.order_drawn = false;
  spec.losses = stats::Losses::random;
  return deciding(line, stats::analyse(data, spec).effects);
}

bool any(const Effects& effects, std::vector<stats::Verdict> verdicts) {
  return std::ranges::any_of(effects, [&](const stats::Effect& effect) {
    return std::ranges::find(verdicts, effect.verdict) != verdicts.end();
  });
}

void count_coverage(const Effects& effects, double change, Counts& counts) {
  for (const stats::Effect& effect : effects) {
    if (!effect.low) continue;
    ++counts.intervals;
    const double truth = std::exp(change);
    counts.covered += *effect.low <= truth && truth <= *effect.high ? 1 : 0;
    counts.half_widths += (*effect.high - *effect.low) / 2;
  }
}

std::size_t count_slower(const Effects& effects) {
  return static_cast<std::size_t>(
      std::ranges::count(effects, stats::Verdict::slower, &stats::Effect::verdict));
}

// One more experiment of each truth.
void simulate_one(const Line& line, const Setup& setup, Counts& counts) {
  using stats::Verdict;
  const double at_margin = std::log1p(margin);
  const std::uint64_t seed = ++counts.experiments;
  if (line.history) {
    counts.wrong += bench::ever_alarmed(*line.history, setup.commits, seed) ? 1 : 0;
    return;
  }
  const stats::Dataset nothing = bench::simulate(line.world, 0, 3 * seed);
  const Effects none = answers(line, setup, nothing);
  counts.wrong += any(none, {Verdict::faster, Verdict::slower}) ? 1 : 0;
  count_coverage(none, 0, counts);
  const Effects edge = answers(line, setup, bench::simulate(line.world, at_margin, 3 * seed + 1));
  counts.same += any(edge, {Verdict::same, Verdict::faster}) ? 1 : 0;
  const stats::Dataset twice = bench::simulate(line.world, 2 * at_margin, 3 * seed + 2);
  const Effects clear = answers(line, setup, twice);
  counts.wrong_sign += any(clear, {Verdict::faster}) ? 1 : 0;
  counts.comparisons += clear.size();
  counts.found += count_slower(clear);
  if (!has_before(line)) return;
  const Effects before = answers_before(line, nothing);
  counts.wrong_before += any(before, {Verdict::faster, Verdict::slower}) ? 1 : 0;
  for (const stats::Effect& effect : before) {
    if (!effect.low) continue;
    ++counts.intervals_before;
    counts.half_widths_before += (*effect.high - *effect.low) / 2;
  }
  counts.found_before += count_slower(answers_before(line, twice));
}

// What earlier starts have done, by line; the last row of a line counts.
std::map<std::string, Counts> read_results(const std::string& path) {
  std::map<std::string, Counts> results;
  std::ifstream file(path);
  for (std::string row; std::getline(file, row);) {
    const std::size_t tab = row.find('\t');
    if (tab == std::string::npos) continue;
    std::istringstream numbers(row.substr(tab));
    Counts counts;
    counts.visit([&](auto& number) { numbers >> number; });
    if (numbers) results[row.substr(0, tab)] = counts;
  }
  return results;
}

void append_result(const std::string& path, const std::string& name, Counts counts) {
  if (path.empty()) return;
  std::string row = name;
  counts.visit([&](auto& number) { row += fmt::format("\t{}", number); });
  std::ofstream(path, std::ios::app) << row << '\n';
}

Counts run(const Line& line, const Setup& setup, std::size_t experiments, Counts counts) {
  constexpr std::size_t at_once = 50;
  while (counts.experiments < experiments) {
    simulate_one(line, setup, counts);
    if (counts.experiments % at_once == 0 || counts.experiments == experiments)
      append_result(setup.results, line.name, counts);
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
  if (line.claim == Claim::verdicts) return result;
  const double share = static_cast<double>(counts.covered) / static_cast<double>(counts.intervals);
  const auto covered = static_cast<std::size_t>(std::lround(share * static_cast<double>(n)));
  if (falls_short(covered, n, 0.94, tests)) result.emplace_back("coverage too low");
  if (line.claim == Claim::exact && exceeds(covered, n, 0.97, tests))
    result.emplace_back("coverage too high");
  return result;
}

double percent(std::size_t count, std::size_t n) {
  return n == 0 ? 0 : 100 * static_cast<double>(count) / static_cast<double>(n);
}

std::string row_of(const Line& line, const Counts& c, const std::vector<std::string>& failed) {
  const auto mean = [](double sum, std::size_t n) {
    return 100 * sum / static_cast<double>(std::max<std::size_t>(1, n));
  };
  const std::string before =
      has_before(line)
          ? fmt::format("{:.2f}; {:.2f}; {:.0f}", percent(c.wrong_before, c.experiments),
                        mean(c.half_widths_before, c.intervals_before),
                        percent(c.found_before, c.comparisons))
          : "";
  if (line.history)
    return fmt::format("| {} | {} | {:.2f} |  |  |  |  |  |  |{}", line.name, c.experiments,
                       percent(c.wrong, c.experiments),
                       failed.empty() ? "" : fmt::format(" <- {}", fmt::join(failed, ", ")));
  return fmt::format("| {} | {} | {:.2f} | {:.1f} | {:.2f} | {:.2f} | {:.2f} | {:.0f} | {} |{}",
                     line.name, c.experiments, percent(c.wrong, c.experiments),
                     percent(c.covered, c.intervals), mean(c.half_widths, c.intervals),
                     percent(c.same, c.experiments), percent(c.wrong_sign, c.experiments),
                     percent(c.found, c.comparisons), before,
                     failed.empty() ? "" : fmt::format(" <- {}", fmt::join(failed, ", ")));
}

constexpr std::string_view header =
    "| experiments | number | wrong verdict where nothing differs, % | own 95 % intervals hold, % "
    "| "
    "half width, % | same at the margin, % | wrong sign at twice the margin, % | found at twice "
    "the "
    "margin, % | Student's t: wrong; half width; found |";
constexpr std::string_view header_start = "| experiments | number |";

// The page's table with these rows, by the name of their line. Lines without results keep theirs.
bool replace_table(const std::string& path, std::map<std::string, std::string> rows,
                   const std::vector<Line>& lines) {
  std::ifstream in(path);
  std::string before;
  std::string behind;
  bool inside = false;
  bool found = false;
  for (std::string text; std::getline(in, text);) {
    if (text.starts_with(header_start)) inside = found = true;
    inside = inside && text.starts_with("|");
    if (inside) {
      constexpr std::size_t bar = 2;
      rows.try_emplace(text.substr(bar, text.find(" |") - bar), text);
    } else {
      (found ? behind : before) += text + "\n";
    }
  }
  in.close();
  if (!found) return false;
  std::ofstream out(path);
  out << before << header << "\n|---|---|---|---|---|---|---|---|---|\n";
  for (const Line& line : lines)
    if (const auto row = rows.find(line.name); row != rows.end()) out << row->second << '\n';
  out << behind;
  return true;
}

int simulate_all(const Setup& setup) {
  std::vector<Line> lines = bench::all_lines();
  const std::size_t tests = 5 * lines.size();
  auto done = setup.results.empty() ? std::map<std::string, Counts>{} : read_results(setup.results);
  fmt::print("{}\n|---|---|---|---|---|---|---|---|---|\n", header);
  bool sound = true;
  std::map<std::string, std::string> rows;
  for (const Line& line : lines) {
    const bool asked = line.name.contains(setup.only);
    const std::size_t experiments = !asked       ? 0
                                    : line.worst ? 5 * setup.experiments
                                                 : setup.experiments;
    const Counts counts = run(line, setup, experiments, done[line.name]);
    if (counts.experiments == 0) continue;
    const auto failed = failures(line, counts, tests);
    const std::string row = row_of(line, counts, failed);
    rows[line.name] = row;
    if (!asked) continue;
    fmt::print("{}\n", row);
    std::fflush(stdout);
    sound = sound && failed.empty();
  }
  if (!setup.table.empty() && !replace_table(setup.table, rows, lines)) {
    fmt::print(stderr, "soundness: {} has no table that begins with '{}'\n", setup.table,
               header_start);
    return 2;
  }
  return sound ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Simulates how often verdicts are wrong and how often intervals hold."};
  Setup setup;
  std::string through;
  app.add_option("--experiments", setup.experiments,
                 "Experiments for each line; the worst line gets five times as many")
      ->capture_default_str();
  app.add_option("--commits", setup.commits, "Experiments of each simulated history")
      ->capture_default_str();
  app.add_option("--only", setup.only, "Lines whose name has this text");
  app.add_option("--command", setup.stabctl,
                 "A stabctl whose 'analyze' analyzes each experiment, instead of the functions");
  app.add_option("--results", setup.results,
                 "A file that keeps the results, so that a later start continues");
  app.add_option("--table", setup.table,
                 "A page whose table of experiments is made from the results");
  app.add_option("--through", through, "A stabctl whose 'analyze' is compared with the functions");
  CLI11_PARSE(app, argc, argv);
  if (through.empty()) {
    setup.folder =
        (std::filesystem::temp_directory_path() / fmt::format("soundness-{}", getpid())).string();
    std::filesystem::create_directories(setup.folder);
    const int code = simulate_all(setup);
    std::filesystem::remove_all(setup.folder);
    return code;
  }
  int wrong = 0;
  for (const Line& line : bench::all_lines())
    if (bench::has_command(line) && line.name.contains(setup.only))
      wrong += bench::compare_through(through, line, spec_of(line), setup.experiments);
  return wrong == 0 ? 0 : 1;
}
