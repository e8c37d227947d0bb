// SPDX-License-Identifier: MIT
// The linear models of a design and their degrees of freedom, which are known before anything runs.
// stats/ fits the same models to the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "design/trial_list.h"
#include "plan/plan.h"

namespace stab::plan {

// Degrees of freedom of a linear model over cells, some of which may be missing.
struct SequentialDf {
  std::vector<std::int64_t> df;  // one per term
  std::int64_t rest = 0;         // of all terms that would take too long to tell apart
};

// A cell holds the index of each factor's level; all cells differ. A term is a set of factors, with
// bit i for factor i. A term's degrees of freedom are the increase of the rank when it follows the
// mean and the terms before it, as in R's aov.
SequentialDf sequential_df(const std::vector<std::vector<std::size_t>>& cells,
                           const std::vector<std::uint32_t>& terms);

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

// The reason why the analysis of a response does not tell several machines apart, as in "it has several
// benchmarks"; "" if it does: then a change has an error of its own on each machine.
std::string why_machines_are_one(const Plan& plan, std::string_view response);
// Whether there are several machines, and each has its own change of the response.
bool tells_machines_apart(const Plan& plan, std::string_view response);

}  // namespace stab::plan
