// SPDX-License-Identifier: MIT
// Binaries of different levels that are the same file. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "design/expand.h"
#include "plan/plan.h"

namespace stab::results {

// What a build of a benchmark gave.
struct Binary {
  std::uint32_t benchmark = 0;
  std::vector<std::string> levels{};  // one a factor; "" for factors that do not act on the build
  std::string sha256{};               // never ""
};

// A trial's levels as Binary has them.
std::vector<std::string> build_levels(const plan::Plan& plan, const plan::Trial& trial);

// Why the plan cannot be run: two levels of a build factor, or all random values of one, gave
// identical binaries in every benchmark. Then that factor would silently do nothing.
std::optional<std::string> find_identical(const plan::Plan& plan, std::span<const Binary> binaries);

// Whether the benchmark's binaries at two levels of a factor are the same in every cell that has
// both, and one has.
bool are_identical(std::span<const Binary> binaries, std::uint32_t benchmark, std::size_t factor,
                   const std::string& first, const std::string& second);

}  // namespace stab::results
