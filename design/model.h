// SPDX-License-Identifier: MIT
// The linear models of a design and their degrees of freedom, which are known before anything runs.
// stats/ fits the same models to the data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "design/expand.h"
#include "plan/plan.h"

namespace stab::plan {

struct Term {
  std::string name;  // "opt", "block", "opt:aslr", "Residuals"
  // "block", "block:opt", "Within", or "" if the model has a single stratum
  std::string stratum;
  std::int64_t df = 0;
  std::string aliases{};  // in fractional designs, the other effects that the term stands for
};

struct Model {
  std::string formula;  // in R's notation: "log(wall) ~ opt + Error(block/opt)"
  std::vector<Term> terms;
};

// There is one model for each benchmark. A within-subjects design has two models over all
// benchmarks instead, the deciding one first. A calibration has one model, used for each of its
// comparisons. A causal design has no models.
struct ModelFor {
  std::string benchmark;  // "" for a model over all benchmarks
  Model model;
  std::string programs{};  // "these" or "like-these" for a model over all benchmarks
};
std::vector<ModelFor> models(const Plan& plan, const Expansion& expansion);

}  // namespace stab::plan
