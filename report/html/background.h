// SPDX-License-Identifier: MIT
// What a page shows beside the analysis: single trials, and how they came about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace stab::report::html {

// How an attempt ended.
enum class Fate : std::uint8_t { ok, disturbed, failed };

// A number of a measured trial. Attempts that were repeated are in here, too: the last one stands.
struct Shot {
  std::uint32_t position = 0;
  std::uint32_t attempt = 0;
  std::uint32_t block = 0;
  std::uint32_t cell = 0;  // of Shots::cells
  Fate fate = Fate::ok;
  double value = std::numeric_limits<double>::quiet_NaN();  // of the response; NaN: it has none
};

struct ShotCell {
  std::string name{};  // "sort opt=O2"
  std::string subject{};
  std::vector<std::string> levels{};  // as in CellMean
  std::uint64_t ok = 0;               // all there are, kept or not
  std::uint64_t others = 0;           // disturbed and failed
};

// Those that are kept, by position and attempt: of more than `most_shots` that are ok a sample that
// the experiment's seed draws, and of others the same.
inline constexpr std::size_t most_shots = 40'000;
struct Shots {
  std::vector<ShotCell> cells{};  // in the order in which they first came
  std::vector<Shot> shots{};
  std::uint64_t ok = 0;      // all there are
  std::uint64_t others = 0;  // disturbed and failed
  std::uint64_t kept_ok = 0;
  std::uint64_t kept_others = 0;
  std::uint64_t left_out = 0;  // numbers of programs' benchmarks beyond those that have cells
};

struct BuildLine {
  std::string benchmark{};
  std::string command{};
  std::string status{};
  std::string binary_sha256{};
};

// A thing that may differ between trials without the plan's wanting to compare it.
struct Chance {
  std::string what{};
  std::string how{};
  bool random = false;
};

struct Fact {
  std::string name{};
  std::string value{};
};

// What the plan compares: the levels of each treatment in its order, treatments as in Spec. Cells
// that have no data are known by it.
using PlannedLevels = std::vector<std::vector<std::string>>;

struct Background {
  Shots shots{};
  PlannedLevels levels{};
  std::vector<Chance> chances{};
  std::vector<Fact> machine{};
  std::vector<BuildLine> builds{};
  std::string plan{};  // its text
  std::string directory{};
};

}  // namespace stab::report::html
