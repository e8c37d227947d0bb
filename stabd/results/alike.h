// SPDX-License-Identifier: MIT
// Levels that build the same binary: in that benchmark they differ in nothing but noise. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/expand.h"
#include "plan/plan.h"
#include "stats/analysis.h"
#include "store/records.h"

namespace stab::results {

// Two levels of a treatment that are the same program, run in the same way, in one benchmark.
struct Alike {
  std::string benchmark{};
  std::string treatment{};
  std::string first{};
  std::string second{};
};

// From the builds that the store has of the experiment.
std::vector<Alike> alike_levels(const plan::Plan& plan, const plan::Expansion& expansion,
                                std::span<const store::Build> builds);

// Gives these comparisons the verdict `same` with the reason, and takes them out of the family that
// the others are corrected for. Their change and its interval stay: they show what noise does here.
void mark_alike(std::span<const Alike> alike, stats::Analysis& analysis);

}  // namespace stab::results
