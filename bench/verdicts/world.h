// SPDX-License-Identifier: MIT
// Simulated experiments whose truth is known: trials as a laboratory would have measured them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stats/data/dataset.h"
#include "stats/data/spec.h"

namespace stab::bench {

// `autocorrelated` from trial to trial, `in_cells` from block to block in each cell; `outliers`: one
// trial in 100 takes three times as long.
enum class Noise { normal, log_normal, bimodal, t2, autocorrelated, in_cells, outliers };
enum class Kind { blocks, no_blocks, seeds, padding, fraction, listed };

// On the scale of logarithms, in shares: 0.01 is 1 %.
struct World {
  Kind kind = Kind::blocks;
  std::vector<std::size_t> shape{2};  // levels of each treatment
  std::size_t programs = 1;
  std::size_t blocks = 20;  // or seeds a cell
  std::size_t replicates = 1;
  double noise = 0.01;
  Noise noise_kind = Noise::normal;
  double wild_level = 1;        // the last level of the first treatment has so many times the noise
  double interaction = 0;       // sd of a level's effect between blocks; seeds: of a seed's luck
  bool skewed = false;          // one block in ten has most of it
  double correlation = 0;       // of a level's effect in a block with that in the block before
  double rare = 0;              // share of a level's layouts that are slow
  double rare_size = 1;         // by how much
  bool rare_in_mean = false;    // `change` is that of the mean, not that without the rare ones
  double shift = 0;             // of all levels but the first, so that `change` is the truth
  bool loses_slow = false;      // the last level loses its slowest quarter of trials
  double timeout = 0;           // trials that are slower by more than this have no number; 0: none
  double between_programs = 0;  // sd of a level's effect between programs
  bool centred = false;         // the programs' own effects sum to 0
  bool machines = false;        // the programs are machines: each has blocks of its own
  bool one_is_slow = false;     // the last machine has half the speed, and levels cost 10 % more
  double rare_programs = 0;     // share of programs that a level makes 20 % slower, in the mean
};

// `change`: the true effect of every level but the first, on average. Columns: program, block, seed
// and t0, t1, ...; the same for the same seed.
stats::Dataset simulate(const World& world, double change, std::uint64_t seed);

// The rows of the first blocks.
stats::Dataset first_blocks(const stats::Dataset& data, std::size_t blocks);

// How a report analyses such an experiment.
stats::Spec spec_of(const World& world);

}  // namespace stab::bench
