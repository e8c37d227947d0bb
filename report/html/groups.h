// SPDX-License-Identifier: MIT
// Groups single trials by subject and cell, for pictures.
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
  std::size_t number = 0;        // an index into Shots::cells
  std::size_t colour = 0;        // starts from 0 in each subject
  std::vector<double> values{};  // of the trials that are ok, ascending
};

struct SubjectShots {
  std::string subject{};
  std::vector<CellShots> cells{};    // in the order of the means
  std::vector<const Shot*> shots{};  // the shots of these cells, by position
  std::uint64_t ok = 0;              // all of them; `shots` may have only a sample
  std::uint64_t others = 0;          // disturbed and failed
  Scale scale{};                     // for the subject's numbers
};

// Subjects and cells in the order of the means; cells without a mean come last. The result refers
// to `shots`.
std::vector<SubjectShots> by_subject(const Shots& shots, const stats::Analysis& analysis);

// The title of an axis: "wall time, ms"; only the response's name if the response has no unit.
std::string axis_title(const stats::Spec& spec, const Scale& scale);

// "trial 57, block 3, sort opt=O2: 12.3 ms".
std::string tip(const Shots& shots, const Shot& shot, const Scale& scale);

// Says how many numbers were kept or have no cell; "" if the page has all of them.
std::string kept_words(const Shots& shots);

// "Only the first 12 of 14 pictures are shown. "; "" if all are shown.
std::string pictured_words(std::size_t pictures, std::size_t all);

// Chooses `count` of `all` indices in equal steps, including the first one and the last one.
std::vector<std::size_t> spread_out(std::size_t all, std::size_t count);

}  // namespace stab::report::html
