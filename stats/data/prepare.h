// SPDX-License-Identifier: MIT
// Makes cells of rows. What follows takes time by the number of cells, not of rows.
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

// The scale that models work on: log(x / origin) or x - origin, so that sums stay small and keep
// their digits.
struct Scale {
  bool log = false;
  double origin = 0;
  double centre = 0;  // the dataset's
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
  std::vector<std::string> levels{};  // those that have data, in the dataset's order
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
  std::uint32_t group = 0;  // its place in the subject's groups
};

// A trial without a number; the bounds are on the model's scale, and infinite where there are none.
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

struct Prepared {
  Spec spec;  // without the columns that the data lacks
  Scale scale;
  std::vector<Treatment> treatments{};
  std::vector<Subject> subjects{};    // those that have data
  std::vector<std::string> seeds{};   // their names, by the codes of groups
  std::vector<std::string> blocks{};  // likewise; only where the order was drawn
  // When each block began, by its code; empty: blocks are numbered in the order of time.
  std::vector<std::uint32_t> block_rank{};
  // Levels that have no number at all are not compared, so their trials are not here.
  std::vector<LostTrial> lost{};
  bool lists_lost = false;  // as in Dataset
  // The bounds of a trial of which nothing is known.
  double least = 0;
  double most = 0;
  // The response moves in steps of this; 0: finer ones than matter. It is found where there are few
  // different numbers, all whole multiples of a step apart. Bytes and steps of 1 are counts.
  double step = 0;
  double noise = 0;                    // what rounding alone may add to a sum of squares, per trial
  std::optional<Repeated> repeated{};  // where the spec has looks
  Notes notes;

  // The level of an interval or a test, and a p: of this look alone, or of all looks together.
  [[nodiscard]] double level(double alpha) const {
    return repeated ? repeated->level(alpha) : alpha;
  }
  [[nodiscard]] std::optional<double> p(std::optional<double> p) const;
  [[nodiscard]] std::size_t cells() const;
  // How many of them the design runs.
  [[nodiscard]] std::size_t design_cells() const {
    return spec.chains.empty() ? cells() : spec.chains.size() + 1;
  }
  // A cell's level of each treatment; the first treatment changes slowest.
  [[nodiscard]] std::vector<std::size_t> levels_of(std::size_t cell) const;
  // Treatments with two levels or more, as indices.
  [[nodiscard]] std::vector<std::size_t> active() const;
};

// Rows without a finite number (on the log scale: a positive one) and levels without data are left
// out, with a note.
Prepared prepare(const Dataset& data, const Spec& spec);

// Nothing if no subject has the name.
const Subject* subject_named(const Prepared& data, const std::string& name);

// The groups of one cell each, in the order of cells.
std::vector<Group> by_cell(const Subject& subject);

}  // namespace stab::stats
