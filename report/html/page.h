// SPDX-License-Identifier: MIT
// The report as a page, and the data that it shows beside the analysis: single trials, and how they
// came about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "report/model.h"

namespace stab::report::html {

// How an attempt ended.
enum class Fate : std::uint8_t { ok, disturbed, failed };

// The response of one attempt at a measured trial. Attempts that stabd repeated are included, too;
// only the last attempt counts.
struct Shot {
  std::uint32_t position = 0;
  std::uint32_t attempt = 0;
  std::uint32_t block = 0;
  std::uint32_t cell = 0;  // an index into Shots::cells
  Fate fate = Fate::ok;
  double value = std::numeric_limits<double>::quiet_NaN();  // the response; NaN: it is absent
};

struct ShotCell {
  std::string name{};  // "sort opt=O2"
  std::string subject{};
  std::vector<std::string> levels{};  // in the order of CellMean
  std::uint64_t ok = 0;               // all of them, even if not kept
  std::uint64_t others = 0;           // disturbed and failed
};

// The shots that are kept, in the order of position and attempt. If more than `most_shots` are ok,
// the experiment's seed draws a sample of them, and likewise of the other shots.
inline constexpr std::size_t most_shots = 40'000;
struct Shots {
  std::vector<ShotCell> cells{};  // in the order in which they first came
  std::vector<Shot> shots{};
  std::uint64_t ok = 0;      // all of them, even if not kept
  std::uint64_t others = 0;  // disturbed and failed
  std::uint64_t kept_ok = 0;
  std::uint64_t kept_others = 0;
  std::uint64_t left_out = 0;  // numbers of benchmarks for which there was no cell left
};

struct BuildLine {
  std::string benchmark{};
  std::string command{};
  std::string status{};
  std::string binary_sha256{};
};

// A condition that may differ between trials although the plan does not compare it.
struct Chance {
  std::string what{};
  std::string how{};
  bool random = false;
};

struct Fact {
  std::string name{};
  std::string value{};
};

// The planned levels of each treatment, in the plan's order; treatments are in the order of Spec.
// They tell which cells have no data.
using PlannedLevels = std::vector<std::vector<std::string>>;

struct Background {
  Shots shots{};
  PlannedLevels levels{};
  std::vector<Chance> chances{};
  std::vector<Fact> machine{};
  std::vector<BuildLine> builds{};
  std::string plan{};  // the plan's text
  std::string directory{};
};

// The report as one HTML file without scripts, fonts or requests. Invariants:
// P1: a page refers to nothing outside itself, and its policy forbids the browser to load anything.
// P2: the names of plans, programs and machines are shown as text, whatever they contain.
// P3: each picture has a table of its numbers.
// P4: a kind of picture has at most `most_dots` dots, and a table has at most `most_rows` rows.
std::string page(const Document& document, const Background& background);

}  // namespace stab::report::html
