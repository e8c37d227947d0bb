// SPDX-License-Identifier: MIT
// Measures how long a factorial analysis of variance of many trials takes, and how much memory it
// takes beyond the data. See bench/anova.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/random.h"
#include "stats/analyse/analyse.h"
#include "stats/verdicts/analysis.h"

namespace {

using namespace stab;

// 20 blocks, three treatments of two levels, in an order as of trials.
stats::Dataset trials(std::size_t rows) {
  stats::Dataset data;
  for (const char* name : {"code", "heap", "stack"})
    data.columns.push_back({.name = name, .levels = {"false", "true"}, .codes = {}});
  data.columns.push_back({.name = "block", .levels = {}, .codes = {}});
  for (int block = 1; block <= 20; ++block) data.columns[3].levels.push_back(std::to_string(block));
  Random random(20130316);
  for (std::size_t row = 0; row < rows; ++row) {
    double noise = 0;
    for (int i = 0; i < 4; ++i) noise += static_cast<double>(random.below(1'000'000)) / 1e6 - 0.5;
    double y = 5e8 * (1 + 0.02 * noise);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto level = static_cast<std::uint32_t>(row >> i & 1U);
      data.columns[i].codes.push_back(level);
      y *= 1 + 0.001 * level;
    }
    const auto block = static_cast<std::uint32_t>(row * 20 / rows);
    data.columns[3].codes.push_back(block);
    data.response.push_back(std::round(y * (1 + 0.0005 * block)));
  }
  return data;
}

void write_csv(const stats::Dataset& data, const char* path) {
  std::ofstream file(path);
  file << "code,heap,stack,block,wall\n";
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    for (const stats::Column& column : data.columns)
      file << column.levels[column.codes[row]] << ',';
    file << fmt::format("{:.0f}\n", data.response[row]);
  }
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

// anova_speed ROWS REPEATS [CSV]
int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  const stats::Dataset data = trials(rows);
  if (argc > 3) write_csv(data, argv[3]);
  stats::Spec spec;
  spec.treatments = {"code", "heap", "stack"};
  spec.block = "block";
  const double before = peak_mb();
  for (const bool assumptions : {false, true}) {
    spec.assumptions = assumptions;
    double best = 1e9;
    stats::Analysis analysis;
    for (int i = 0; i < repeats; ++i) {
      const auto start = std::chrono::steady_clock::now();
      analysis = stats::analyse(data, spec);
      best = std::min(
          best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    fmt::print("{:<34} {:.3f} s, {:.0f} MB beyond the data\n",
               assumptions ? "stabd, with tests of assumptions" : "stabd, analysis of variance",
               best, peak_mb() - before);
    if (assumptions) continue;
    for (const stats::AnovaRow& row : analysis.tables.at(0).rows)
      if (row.f) fmt::print("  {:<18} F {:.9g}\n", row.term, *row.f);
  }
}
