// SPDX-License-Identifier: MIT
// Groups rows into cells, so that later steps take time by the number of cells, not of rows.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/dataset.h"
#include "stats/data/notes.h"
#include "stats/data/spec.h"
#include "stats/numbers/summary.h"
#include "stats/planning/repeated.h"

namespace stab::stats {

// The scale on which models work: log(x / origin) or x - origin, so that sums stay small and keep
// their digits.
struct Scale {
  bool log = false;
  double origin = 0;
  double centre = 0;  // the dataset's centre
  double first = 0;   // origin - centre, without rounding

  // to() takes a number of the dataset to the model's scale; back() gives it in the response's
  // unit.
  [[nodiscard]] double to(double response) const {
    const double distance = response - first;
    if (!log) return distance;
    if (std::abs(distance) < origin / 2) return std::log1p(distance / origin);
    return std::log((response + centre) / origin);
  }
  [[nodiscard]] double back(double value) const;
};

struct Treatment {
  std::string name{};
  std::vector<std::string> levels{};  // levels that have data, in the dataset's order
};

// All trials of a subject with the same block, cell and seed. Absent columns have code 0.
struct Group {
  std::uint32_t subject = 0;
  std::uint32_t block = 0;
  std::uint32_t cell = 0;
  std::uint32_t seed = 0;
  Moments y;    // on the model's scale
  Moments raw;  // in the response's unit
};

// One trial that is analysed.
struct Trial {
  double y = 0;             // on the model's scale
  std::uint32_t group = 0;  // index into the subject's groups
};

// A trial without a number. The bounds are on the model's scale, and infinite if they are unknown.
struct LostTrial {
  std::uint32_t subject = 0;
  std::uint32_t block = 0;  // blocks and seeds that have no trials at all have codes of their own
  std::uint32_t cell = 0;
  std::uint32_t seed = 0;
  double low = 0;
  double high = 0;
  bool excluded = false;  // as in Lost
};

struct Subject {
  std::string name{};           // "" if there is no such column
  std::vector<Group> groups{};  // ordered by block, cell, seed
  std::vector<Trial> trials{};  // in the dataset's order
};

// If the spec has machines, a block's name and code here belong to one machine.
struct Prepared {
  Spec spec;  // without the columns that the data lacks
  Scale scale;
  std::vector<Treatment> treatments{};
  std::vector<Subject> subjects{};    // subjects that have data
  std::vector<std::string> seeds{};   // their names, by the codes in groups
  std::vector<std::string> blocks{};  // likewise; only if the order was drawn
  // When each block began, by its code; empty: blocks are numbered in the order of time.
  std::vector<std::uint32_t> block_rank{};
  // Trials of levels without any number are not here, because such levels are not compared.
  std::vector<LostTrial> lost{};
  bool lists_lost = false;  // as in Dataset
  // The bounds of a trial about which nothing is known.
  double least = 0;
  double most = 0;
  // The response moves in steps of this size; 0: the steps are too fine to matter. The step is
  // found if there are few different numbers, all whole multiples of a step apart. Bytes, and
  // numbers in steps of 1, are counts and have no step.
  double step = 0;
  double noise = 0;                    // what rounding may add to a sum of squares, per trial
  std::optional<Repeated> repeated{};  // present if the spec has looks
  Notes notes;

  // Convert the level of an interval or a test, and a p, so that they hold for all looks together
  // if the experiment has looks.
  [[nodiscard]] double level(double alpha) const {
    return repeated ? repeated->level(alpha) : alpha;
  }
  [[nodiscard]] std::optional<double> p(std::optional<double> p) const;
  [[nodiscard]] std::size_t cells() const;
  // The number of cells that the design runs.
  [[nodiscard]] std::size_t design_cells() const {
    return spec.chains.empty() ? cells() : spec.chains.size() + 1;
  }
  // Returns a cell's level of each treatment; the first treatment changes slowest.
  [[nodiscard]] std::vector<std::size_t> levels_of(std::size_t cell) const;
  // Returns the indices of treatments with two or more levels.
  [[nodiscard]] std::vector<std::size_t> active() const;
};

// Leaves out rows without a finite number (on the log scale: a positive one) and levels without
// data, with a note.
Prepared prepare_data(const Dataset& data, const Spec& spec);

// Returns null if no subject has the name.
const Subject* subject_named(const Prepared& data, const std::string& name);

// Returns one group for each cell, in the order of cells.
std::vector<Group> by_cell(const Subject& subject);

}  // namespace stab::stats
