// SPDX-License-Identifier: MIT
// A document for tests. make.R has the same raw data.
#pragma once

#include <fmt/format.h>

#include "report/model.h"
#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"

namespace stab::report {

inline Document sample_document() {
  stats::Dataset data =
      stats::oracle::programs(11, {.subjects = 6, .opt = 2, .aslr = 1, .blocks = 5});
  data.columns[0].name = "benchmark";
  data.columns[0].levels = {"sort", "matrix", "json", "lz", "regex", "hash"};
  stats::Spec spec;
  spec.design = stats::Design::within_subjects;
  spec.subject = "benchmark";
  spec.treatments = {"opt"};
  spec.block = "block";
  Document document;
  document.experiment = "quickstart";
  document.id = 3;
  document.question = "Are these programs faster with O2 than with O1?";
  document.state = "done";
  document.machine = "an imagined machine with 2 CPUs";
  document.quietness = {.asked = "best-effort",
                        .grade = "fair",
                        .found = "fair for measurements: smt (on)",
                        .changed = "governor (2 files), swappiness",
                        .loud = "ksm: the kernel does not accept 0"};
  document.seed = 7;
  document.trials = {.planned = 62, .ok = 60, .failed = 2, .skipped = 0};
  document.failures = {"sort at opt=O2: timeout after 60 s (2 trials)"};
  document.database = "/tmp/quickstart.sqlite";
  document.duration = std::chrono::seconds(125);
  document.analysis = stats::analyse(data, spec);
  return document;
}

// Every block has one trial of each level, whose response is `y` of the block and the level.
inline Document of_blocks(std::size_t blocks, std::size_t levels, auto&& y, stats::Spec spec) {
  stats::Dataset data;
  stats::Column opt{.name = "opt"};
  stats::Column block{.name = "block"};
  for (std::size_t i = 0; i < levels; ++i) opt.levels.push_back(fmt::format("L{}", i));
  for (std::uint32_t b = 0; b < blocks; ++b) {
    block.levels.push_back(fmt::format("{}", b));
    for (std::uint32_t level = 0; level < levels; ++level) {
      opt.codes.push_back(level);
      block.codes.push_back(b);
      data.response.push_back(y(b, level));
    }
  }
  data.columns = {opt, block};
  spec.treatments = {"opt"};
  spec.block = "block";
  Document document;
  document.analysis = stats::analyse(data, spec);
  return document;
}

// Noise whose pattern over the blocks differs between levels.
inline double noise(std::uint32_t block, std::uint32_t level) {
  return static_cast<double>((block * 7 + level * level * 5 + block * block * level * 3) % 11);
}

}  // namespace stab::report
