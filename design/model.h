// SPDX-License-Identifier: MIT
// The linear models that a design leads to, with their degrees of freedom, known before anything
// runs: those that stats/ fits to the data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "design/expand.h"
#include "plan/plan.h"

namespace stab::plan {

struct Term {
  std::string name;  // "opt", "block", "opt:aslr", "Residuals"
  // "block", "block:opt", "Within", or "" where there is one stratum only
  std::string stratum;
  std::int64_t df = 0;
  std::string aliases{};  // fractional designs: the effects that it stands for, too
};

struct Model {
  std::string formula;  // in R's notation: "log(wall) ~ opt + Error(block/opt)"
  std::vector<Term> terms;
};

// One model a benchmark, or two over all of them (within-subjects), the one that decides first.
// That of a calibration is the one of each of its comparisons. A causal design has none.
struct ModelFor {
  std::string benchmark;  // "" for those over all benchmarks
  Model model;
  std::string programs{};  // "these" or "like-these", of those over all benchmarks
};
std::vector<ModelFor> models(const Plan& plan, const Expansion& expansion);

}  // namespace stab::plan
