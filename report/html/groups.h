// SPDX-License-Identifier: MIT
// Single trials, sorted out for pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/html/background.h"
#include "report/model.h"
#include "report/words/quantity.h"

namespace stab::report::html {

struct CellShots {
  std::size_t number = 0;        // of Shots::cells
  std::size_t colour = 0;        // from 0 in each subject
  std::vector<double> values{};  // of the trials that are ok, rising
};

struct SubjectShots {
  std::string subject{};
  std::vector<CellShots> cells{};    // in the order of the means
  std::vector<const Shot*> shots{};  // of these cells, by position
  std::uint64_t ok = 0;              // all there are, of which `shots` may be a sample
  std::uint64_t others = 0;          // disturbed and failed
  Scale scale{};                     // for its numbers
};

// In the order of the means, those without one behind them. It refers to `shots`.
std::vector<SubjectShots> by_subject(const Shots& shots, const stats::Analysis& analysis);

// "ms", "e-09", or what the number is where it has no unit: the title of an axis.
std::string axis_title(const stats::Spec& spec, const Scale& scale);

// "trial 57, block 3, sort opt=O2: 12.3 ms".
std::string tip(const Shots& shots, const Shot& shot, const Scale& scale);

// Sentences on how many numbers are kept of how many, and on those without a cell; "": all are there.
std::string kept_words(const Shots& shots);

// "The first 12 of 14 have pictures. "; "": all have.
std::string pictured_words(std::size_t pictures, std::size_t all);

// `count` of `all` in equal steps, the first one and the last one among them.
std::vector<std::size_t> spread_out(std::size_t all, std::size_t count);

}  // namespace stab::report::html
