// SPDX-License-Identifier: MIT
#include "toml/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace stab::toml {

void Problems::add(Position at, std::string message) {
  problems_.push_back({.line = at.line, .column = at.column, .message = std::move(message)});
}

std::vector<Problem> Problems::take() && {
  std::ranges::sort(problems_, {}, [](const Problem& problem) {
    return std::tie(problem.line, problem.column, problem.message);
  });
  if (problems_.size() > max_problems) {
    const std::size_t more = problems_.size() - max_problems;
    problems_.resize(max_problems);
    problems_.push_back(
        {.message = fmt::format("and {} more problem{}", more, more == 1 ? "" : "s")});
  }
  return std::move(problems_);
}

std::string describe(const std::vector<Problem>& problems, std::string_view file) {
  std::string text;
  for (const Problem& problem : problems) {
    text += file;
    if (problem.line > 0) text += fmt::format(":{}:{}", problem.line, problem.column);
    text += fmt::format(": {}\n", problem.message);
  }
  return text;
}

}  // namespace stab::toml
