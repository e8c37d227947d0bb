// SPDX-License-Identifier: MIT
// The linear model that a design leads to, with its degrees of freedom, known before anything runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/expand.h"
#include "plan/plan.h"

namespace stab::plan {

struct Term {
  std::string name;  // "opt", "block", "opt:aslr", "Residuals"
  // "benchmark", "benchmark:opt", "Within", or "" where there is one stratum only
  std::string stratum;
  std::int64_t df = 0;
  std::string aliases{};  // fractional designs: the effects that it stands for, too
};

struct Model {
  std::string formula;  // in R's notation: "log(wall) ~ opt + Error(benchmark/opt)"
  std::vector<Term> terms;
};

// One model a benchmark, or one for all of them (within-subjects). That of a calibration is the one
// of each of its comparisons.
struct ModelFor {
  std::string benchmark;  // "" for the one over all benchmarks
  Model model;
};
std::vector<ModelFor> models(const Plan& plan, const Expansion& expansion);

}  // namespace stab::plan
