// SPDX-License-Identifier: MIT
// Measures how often `stabctl ab` finds a difference between a program and itself. Takes recorded
// trials of a program that was compared with itself, draws blocks of these trials again and again,
// and swaps the two versions by chance. The functions that the daemon calls between blocks then
// make a decision (results/stopping.h, stats/analyse):
//   build/bench/resampled trials.csv [EXPERIMENTS] [BLOCKS] [SECONDS]
// `stabctl export --format csv` writes such a file. Exits with 1 if surely more than 5 % of the
// decisions are wrong.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "plan/reading/read_plan.h"
#include "results/stopping.h"
#include "stats/analyse/analyse.h"
#include "stats/verdicts/calibration.h"
#include "stats/verdicts/decide.h"

namespace {

using namespace stab;

using Pair = std::array<double, 2>;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

// Both trials of each block, where both are good.
std::vector<Pair> pairs_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = cells_of(line);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  };
  const std::array wanted{column("block"), column("warmup"), column("status"), column("version"),
                          column("wall_ns")};
  if (*std::ranges::max_element(wanted) >= names.size()) return {};
  std::map<std::string, std::map<std::string, double>> blocks;
  while (std::getline(file, line)) {
    const auto cells = cells_of(line);
    if (cells.size() <= *std::ranges::max_element(wanted)) continue;
    const bool warmup = cells[wanted[1]] == "true" || cells[wanted[1]] == "1";
    if (warmup || cells[wanted[2]] != "ok") continue;
    blocks[cells[wanted[0]]][cells[wanted[3]]] = std::atof(cells[wanted[4]].c_str());
  }
  std::vector<Pair> pairs;
  for (const auto& [block, levels] : blocks)
    if (levels.size() == 2) pairs.push_back({levels.begin()->second, levels.rbegin()->second});
  return pairs;
}

plan::Stop rule_of_ab(std::uint32_t blocks) {
  const auto plan = plan::read_plan(fmt::format(
      "[experiment]\nname = \"x\"\n[[benchmark]]\nname = \"x\"\nrun = [\"/bin/true\", \"${{V}}\"]\n"
      "[factor.version]\nlevels = {{ a = {{ V = \"1\" }}, b = {{ V = \"2\" }} }}\n[design]\n"
      "kind = \"one-way\"\n"
      "stop = {{ rule = \"sequential\", min = 10, max = {}, looks = 20 }}\n",
      blocks));
  return plan.value().design.stop.value();
}

stats::Dataset drawn(const std::vector<Pair>& pairs, std::uint32_t blocks, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::uniform_int_distribution<std::size_t> which(0, pairs.size() - 1);
  stats::Dataset data;
  data.columns = {{.name = "version", .levels = {"a", "b"}}, {.name = "block"}};
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const Pair& pair = pairs[which(engine)];
    const bool swapped = (engine() & 1U) != 0;
    data.columns[1].levels.push_back(std::to_string(block));
    for (std::uint32_t level = 0; level < 2; ++level) {
      data.response.push_back(pair.at(swapped ? 1 - level : level));
      data.columns[0].codes.push_back(level);
      data.columns[1].codes.push_back(block);
    }
  }
  return data;
}

stats::Dataset first_blocks(stats::Dataset data, std::uint32_t blocks) {
  data.response.resize(std::size_t{2} * blocks);
  for (stats::Column& column : data.columns) column.codes.resize(std::size_t{2} * blocks);
  data.columns[1].levels.resize(blocks);
  return data;
}

stats::Verdict verdict_of(const stats::Analysis& analysis) {
  const auto effects = stats::deciding_effects(analysis);
  return effects.empty() ? stats::Verdict::unsure : effects.front()->verdict;
}

stats::Verdict verdict_on(const stats::Dataset& data, const plan::Stop& stop) {
  std::vector<std::uint32_t> looks = stop.looks;
  looks.push_back(stop.max);
  for (const std::uint32_t blocks : looks) {
    const stats::Dataset seen = first_blocks(data, blocks);
    stats::Spec spec{.treatments = {"version"}, .block = "block", .assumptions = false};
    spec.equivalence = 0.01;
    // What holds at all looks is less than what holds at this one alone, which is computed faster.
    if (verdict_of(stats::analyse(seen, spec)) == stats::Verdict::unsure) continue;
    results::control_error(spec, stop, blocks);
    const auto analysis = stats::analyse(seen, spec);
    if (blocks < stop.max && !results::look(analysis, stop, blocks).stop) continue;
    return verdict_of(analysis);
  }
  return stats::Verdict::unsure;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const auto pairs = argc > 1 ? pairs_in(argv[1]) : std::vector<Pair>();
  const auto wanted = number(2, 2000);
  const auto blocks = static_cast<std::uint32_t>(number(3, 100));
  if (pairs.size() < 10 || blocks < 30) {
    fmt::print(stderr,
               "resampled: a file with 10 blocks of two versions is needed, and 30 blocks\n");
    return 2;
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(number(4, 600));
  const plan::Stop stop = rule_of_ab(blocks);
  std::map<stats::Verdict, std::size_t> said;
  std::size_t done = 0;
  for (; done < wanted && std::chrono::steady_clock::now() < until; ++done)
    ++said[verdict_on(drawn(pairs, blocks, done + 1), stop)];
  const std::size_t wrong = said[stats::Verdict::faster] + said[stats::Verdict::slower];
  const auto interval = stats::binomial_interval(wrong, done, 0.02);
  fmt::print(
      "{} A/A comparisons from {} recorded blocks, of at most {} blocks each: {} faster, {} "
      "slower, {} the same, {} cannot tell; wrong {:.2f} % [{:.2f}, {:.2f}]\n",
      done, pairs.size(), blocks, said[stats::Verdict::faster], said[stats::Verdict::slower],
      said[stats::Verdict::same], said[stats::Verdict::unsure],
      100 * static_cast<double>(wrong) / static_cast<double>(done), 100 * interval->low,
      100 * interval->high);
  return interval->low > 0.05 ? 1 : 0;
}
