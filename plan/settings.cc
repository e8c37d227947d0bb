// SPDX-License-Identifier: MIT
#include "plan/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <set>

#include "base/text.h"
#include "plan/substitute.h"

namespace stab::plan {
namespace {

constexpr std::size_t most = 8;       // variables of a level, levels, lines of variables
constexpr std::size_t longest = 120;  // bytes of a value
constexpr std::string_view own_prefix = "STABD_";

// The first items of a list, joined by `between`.
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
  Variables shown = level.variables;
  std::erase_if(shown, [](const auto& each) { return each.first.starts_with(own_prefix); });
  return fmt::format("{} sets {}", level.name, first_of(shown, ", ", variable_text));
}

// The variables that affect how programs are built and run.
Variables used(const Plan& plan) {
  std::set<std::string> names;
  const auto add = [&](const std::string& text) {
    for (const std::string& name : names_in(text)) names.insert(name);
  };
  for (const Benchmark& each : plan.benchmarks) {
    add(each.build.value_or(""));
    for (const std::string& word : each.run) add(word);
    for (const std::string& word : each.beside) add(word);
  }
  Variables variables = plan.variables;
  std::erase_if(variables, [&](const auto& variable) {
    return variable.second.empty() || !names.contains(variable.first);
  });
  return variables;
}

// " is o3 worth it ": words of letters and digits between spaces, so that only whole names are
// found.
std::string as_words(std::string_view text) {
  std::string words = " ";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || byte >= 0x80 || c == '+')
      words += static_cast<char>(std::tolower(byte));
    else if (words.back() != ' ')
      words += ' ';
  }
  if (words.back() != ' ') words += ' ';
  return words;
}

bool names(const std::string& question, std::string_view text) {
  const std::string words = as_words(text);
  if (words.size() < 3) return false;
  const std::string plural = words.substr(0, words.size() - 1) + "s ";
  return question.contains(words) || question.contains(plural);
}

// Words that any question may contain don't refer to a level.
bool is_telling(const std::string& level) {
  static const std::set<std::string> common{" a ",   " all ", " default ", " false ", " i ",
                                            " is ",  " it ",  " no ",      " none ",  " off ",
                                            " old ", " new ", " on ",      " true ",  " yes "};
  const std::string words = as_words(level);
  return !common.contains(words) && words.find_first_not_of(" 0123456789") != std::string::npos;
}

// How plainly the question names the factor. 0: not at all.
int plainness(const std::string& question, const Factor& factor) {
  if (names(question, factor.name)) return 3;
  const auto* fixed = std::get_if<FixedLevels>(&factor.levels);
  if (fixed == nullptr) return 0;
  for (const Level& level : fixed->levels)
    for (const auto& [variable, value] : level.variables)
      if (is_telling(value) && names(question, value)) return 2;
  for (const Level& level : fixed->levels)
    if (is_telling(level.name) && names(question, level.name)) return 1;
  return 0;
}

}  // namespace

std::vector<std::string> treatments_asked(const Plan& plan) {
  const std::string question = as_words(plan.question);
  std::vector<std::string> asked;
  for (const int wanted : {3, 2, 1})
    for (const Factor& factor : plan.factors)
      if (factor.is_treatment() && plainness(question, factor) == wanted)
        asked.push_back(factor.name);
  return asked;
}

std::vector<std::string> settings_of(const Plan& plan) {
  std::vector<std::string> lines;
  const Variables variables = used(plan);
  if (!variables.empty()) lines.push_back(first_of(variables, ", ", variable_text));
  if (plan.pads_by_default)
    lines.emplace_back("by default: random stack frames in programs built by szc");
  for (const Benchmark& each : plan.benchmarks)
    if (!each.beside.empty() && lines.size() < most)
      lines.push_back(
          fmt::format("command that runs beside each trial of {}: {}", each.name,
                      one_line(fmt::format("{}", fmt::join(each.beside, " ")), longest)));
  for (const Factor& factor : plan.factors)
    if (factor.kind == FactorKind::user && factor.is_treatment())
      lines.push_back(
          fmt::format("{}: {}", factor.name,
                      first_of(std::get<FixedLevels>(factor.levels).levels, "; ", level_text)));
  return lines;
}

}  // namespace stab::plan
