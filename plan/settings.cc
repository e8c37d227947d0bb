// SPDX-License-Identifier: MIT
#include "plan/settings.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "plan/substitute.h"

namespace stab::plan {
namespace {

constexpr std::size_t most = 8;       // variables of a level, levels, lines of variables
constexpr std::size_t longest = 120;  // bytes of a value

// The first of them, joined by `between`.
template <typename List, typename Text>
std::string first_of(const List& list, std::string_view between, Text text) {
  std::string all;
  std::size_t count = 0;
  for (const auto& each : list) {
    if (count == most) return all + fmt::format("{}and {} more", between, list.size() - most);
    if (count++ > 0) all += between;
    all += text(each);
  }
  return all;
}

std::string variable_text(const Variables::value_type& variable) {
  return fmt::format("{} = {}", variable.first,
                     variable.second.empty() ? "\"\"" : one_line(variable.second, longest));
}

std::string level_text(const Level& level) {
  if (!level.revision.empty())
    return fmt::format("{} is {}", level.name,
                       level.revision == working_tree ? "the working tree"
                                                      : "commit " + one_line(level.revision, 200));
  return fmt::format("{} sets {}", level.name, first_of(level.variables, ", ", variable_text));
}

// Those that say something of how programs are built and run.
Variables used(const Plan& plan) {
  std::set<std::string> names;
  const auto add = [&](const std::string& text) {
    for (const std::string& name : names_in(text)) names.insert(name);
  };
  for (const Benchmark& each : plan.benchmarks) {
    add(each.build.value_or(""));
    for (const std::string& word : each.run) add(word);
  }
  Variables variables = plan.variables;
  std::erase_if(variables, [&](const auto& variable) {
    return variable.second.empty() || !names.contains(variable.first);
  });
  return variables;
}

}  // namespace

std::vector<std::string> settings_of(const Plan& plan) {
  std::vector<std::string> lines;
  const Variables variables = used(plan);
  if (!variables.empty()) lines.push_back(first_of(variables, ", ", variable_text));
  for (const Factor& factor : plan.factors)
    if (factor.kind == FactorKind::user && factor.is_treatment())
      lines.push_back(
          fmt::format("{}: {}", factor.name,
                      first_of(std::get<FixedLevels>(factor.levels).levels, "; ", level_text)));
  return lines;
}

}  // namespace stab::plan
