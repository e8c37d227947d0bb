// SPDX-License-Identifier: MIT
// Finds binaries that are the same file although their levels differ, and levels that differ only
// by noise. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "design/trial_list.h"
#include "plan/plan.h"
#include "stats/data/spec.h"
#include "store/records.h"

namespace stab::results {

// The result of one build of a benchmark.
struct Binary {
  std::uint32_t benchmark = 0;
  std::vector<std::string> levels{};  // one per factor; "" for factors that do not act on the build
  std::string sha256{};               // never ""
};

// A trial's levels in the form of Binary::levels.
std::vector<std::string> build_levels(const plan::Plan& plan, const plan::Trial& trial);

// Returns a reason not to run the plan if two levels of a build factor, or all random values of
// one, gave identical binaries in every benchmark: that factor would silently do nothing. Returns
// nothing if the factor also changes how a benchmark runs, or if a benchmark's trials use other
// files of the build, because these files may differ.
std::optional<std::string> find_identical(const plan::Plan& plan, std::span<const Binary> binaries);

// Whether the benchmark's binaries at two levels of a factor are the same in every cell that has
// both levels. At least one cell must have both.
bool are_identical(std::span<const Binary> binaries, std::uint32_t benchmark, std::size_t factor,
                   const std::string& first, const std::string& second);

// Finds levels that build the same binary and run it in the same way: for that benchmark, they
// differ only by noise. `builds`: the experiment's builds in the store.
std::vector<stats::Alike> alike_levels(const plan::Plan& plan, const plan::Expansion& expansion,
                                       std::span<const store::Build> builds);

}  // namespace stab::results
