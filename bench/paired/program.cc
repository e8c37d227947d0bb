// SPDX-License-Identifier: MIT
#include "bench/paired/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace stab::bench {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text, char separator) {
  Words words;
  for (;;) {
    const std::size_t end = text.find(separator);
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::size_t> find_arm(const Program& program, const std::string& name) {
  const auto found = std::ranges::find(program.arms, name, &Arm::name);
  if (found == program.arms.end()) return std::nullopt;
  return static_cast<std::size_t>(found - program.arms.begin());
}

void add_variant(Program& program, const Words& words) {
  if (!find_arm(program, words[1])) program.arms.push_back({words[1], {}});
  program.arms[*find_arm(program, words[1])].variants.push_back(
      {words[2], Words(words.begin() + 3, words.end())});
}

bool add_comparison(Program& program, const Words& words) {
  const auto arm = find_arm(program, words[1]);
  const auto base = find_arm(program, words[2]);
  if (arm && base) program.comparisons.push_back({*arm, *base});
  return arm && base;
}

// Whether the line was understood.
bool add_line(std::vector<Program>& programs, const Words& words) {
  if (words[0] == "program" && words.size() == 2) {
    programs.push_back({});
    programs.back().name = words[1];
    return true;
  }
  if (programs.empty()) return false;
  Program& program = programs.back();
  if (words[0] == "in" && words.size() == 2)
    program.directory = words[1];
  else if (words[0] == "stdin" && words.size() == 2)
    program.stdin_path = words[1];
  else if (words[0] == "arm" && words.size() >= 4)
    add_variant(program, words);
  else if (words[0] == "compare" && words.size() == 3)
    return add_comparison(program, words);
  else
    return false;
  return true;
}

}  // namespace

std::string Program::title(const Comparison& comparison) const {
  return arms[comparison.arm].name + "/" + arms[comparison.base].name;
}

Result<std::vector<Program>> parse_programs(std::string_view text) {
  std::vector<Program> programs;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    if (!add_line(programs, split(line, '\t')))
      return fail(fmt::format("line {} is not understood: {}", number, line));
  }
  if (programs.empty()) return fail("there is no program in it");
  return programs;
}

}  // namespace stab::bench
