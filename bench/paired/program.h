// SPDX-License-Identifier: MIT
// What is compared: programs, each with arms, each with variants. Read from text that scripts
// write: one word or a few a line, separated by tabs.
//
//   program  NAME                        begins a program; what follows belongs to it
//   in       DIRECTORY                   where it runs
//   stdin    PATH                        default: /dev/null
//   arm      NAME OPTIONS COMMAND...     the same NAME again: another variant, such as a link order
//   compare  NAME NAME                   the ratio of the first to the second is wanted
//
// OPTIONS is the value of STABILIZER_OPTIONS; {seed} in it becomes a fresh number for each run.
// All arms of a program have to write the same to stdout. The first arm's output is the reference.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace stab::bench {

struct Variant {
  std::string options{};
  std::vector<std::string> command{};
};

struct Arm {
  std::string name{};
  std::vector<Variant> variants{};
};

struct Comparison {
  std::size_t arm = 0;
  std::size_t base = 0;
};

struct Program {
  std::string name{};
  std::string directory{};
  std::string stdin_path{};
  std::vector<Arm> arms{};
  std::vector<Comparison> comparisons{};

  [[nodiscard]] std::string title(const Comparison& comparison) const;
};

// The error names the line.
Result<std::vector<Program>> parse_programs(std::string_view text);

}  // namespace stab::bench
