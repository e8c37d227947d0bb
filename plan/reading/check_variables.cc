// SPDX-License-Identifier: MIT
// Checks the variables of a plan, ${NAME}: each of them is defined, and is used where it must be.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/draft.h"
#include "plan/texts.h"

namespace stab::plan {

namespace {

constexpr std::size_t max_run_bytes = std::size_t{1} << 20;  // argv and environment together
constexpr std::size_t link_flags_bytes = 400;                // more than link_order adds

bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// The length of the longest value of each variable.
std::map<std::string, std::size_t> longest_values(const Draft& draft) {
  std::map<std::string, std::size_t> longest;
  const auto add = [&](const Variables& variables) {
    for (const auto& [name, value] : variables)
      longest[name] = std::max(longest[name], value.size());
  };
  add(draft.plan.variables);
  for (const DraftFactor& factor : draft.factors)
    if (const auto* fixed = std::get_if<FixedLevels>(&factor.value.levels))
      for (const Level& level : fixed->levels) add(level.variables);
  longest["LDFLAGS"] += link_flags_bytes;
  return longest;
}

class NameChecker {
 public:
  explicit NameChecker(Draft& draft)
      : problems_(draft.problems), longest_(longest_values(draft)), known_(own_variables) {
    for (const auto& [name, value] : draft.plan.variables) known_.push_back(name);
    known_.insert(known_.end(), draft.declared.begin(), draft.declared.end());
    std::ranges::sort(known_);
    known_.erase(std::ranges::unique(known_).begin(), known_.end());
  }

  void check_defined(const Template& text) {
    std::set<std::string> seen;
    for (const std::string& name : names_in(text.text)) {
      if (!seen.insert(name).second || std::ranges::binary_search(known_, name)) continue;
      std::string hint = problems_.is_crowded() ? "" : did_you_mean(name, known_);
      if (hint.empty())
        hint = fmt::format(": define it in [variables], or write $${{{}}} for the shell's own",
                           shown(name));
      problems_.add(text.at, fmt::format("'{}' uses ${{{}}}, which is not defined{}", text.path,
                                         shown(name), hint));
    }
  }

  // The largest possible size of the text, in bytes, after all names are replaced.
  [[nodiscard]] std::size_t expanded(const Template& text) const {
    std::size_t bytes = text.text.size();
    for (const std::string& name : names_in(text.text))
      if (const auto found = longest_.find(name); found != longest_.end())
        bytes = bytes + found->second - (name.size() + 3);
    return bytes;
  }

  void check_length(const Template& text, std::size_t bytes, std::size_t limit) {
    if (bytes > limit)
      problems_.add(text.at, fmt::format("'{}' is {} bytes long after its variables are replaced, "
                                         "but at most {} are allowed: shorten it",
                                         text.path, bytes, limit));
  }

  void check(const DraftBenchmark& benchmark) {
    if (benchmark.build) {
      check_defined(*benchmark.build);
      check_length(*benchmark.build, expanded(*benchmark.build), max_word + link_flags_bytes);
    }
    std::size_t total = 0;
    for (const Template& text : benchmark.run) {
      check_defined(text);
      const std::size_t bytes = expanded(text);
      check_length(text, bytes, max_word + link_flags_bytes);
      if (total <= max_run_bytes) check_length(text, total + bytes, max_run_bytes);
      total += bytes;
    }
  }

 private:
  Problems& problems_;
  std::map<std::string, std::size_t> longest_;
  Words known_;
};

}  // namespace

void check_names(Draft& draft) {
  for (const Template& value : draft.values)
    for (const std::string& name : names_in(value.text))
      if (!contains(own_variables, name))
        draft.problems.add(
            value.at, fmt::format("'{0}' uses ${{{1}}}, but the value of a variable can use only "
                                  "${{OUT}}, ${{DIR}} and ${{SRC}}: write the value of {1} instead",
                                  value.path, shown(name)));
  NameChecker checker(draft);
  for (const DraftBenchmark& benchmark : draft.benchmarks) checker.check(benchmark);
}

// No part of a plan may be silently without effect: builds must make the program that is run, and
// factors must act on every benchmark.

namespace {

using Names = std::set<std::string>;

void add_names(Names& names, const Template& text) {
  for (std::string& name : names_in(text.text)) names.insert(std::move(name));
}

// The names that the values of each variable use: OUT, DIR or SRC.
std::map<std::string, Names> names_in_values(const Draft& draft) {
  std::map<std::string, Names> inside;
  const auto add = [&](const Variables& variables) {
    for (const auto& [name, value] : variables)
      for (std::string& used : names_in(value)) inside[name].insert(std::move(used));
  };
  add(draft.plan.variables);
  for (const DraftFactor& factor : draft.factors)
    if (const auto* fixed = std::get_if<FixedLevels>(&factor.value.levels))
      for (const Level& level : fixed->levels) add(level.variables);
  return inside;
}

// The names in the text, and in the values of the text's variables.
Names names_of(const Template& text, const std::map<std::string, Names>& inside) {
  Names names;
  add_names(names, text);
  const Names direct = names;
  for (const std::string& name : direct)
    if (const auto found = inside.find(name); found != inside.end())
      names.insert(found->second.begin(), found->second.end());
  return names;
}

void check_without_build(const DraftBenchmark& benchmark,
                         const std::map<std::string, Names>& inside, Problems& problems) {
  for (const Template& text : benchmark.run) {
    const Names names = names_of(text, inside);
    for (const char* own : {"OUT", "DIR"})
      if (names.contains(own))
        problems.add(text.at,
                     fmt::format("'{}' uses ${{{}}}, but the benchmark '{}' has no build: add "
                                 "benchmark.build, or write the path of an existing file",
                                 text.path, own, benchmark.value.name));
  }
}

void check_with_build(const DraftBenchmark& benchmark, const std::map<std::string, Names>& inside,
                      Problems& problems) {
  Names run;
  for (const Template& text : benchmark.run) run.merge(names_of(text, inside));
  const bool makes_out = names_of(*benchmark.build, inside).contains("OUT");
  if (!makes_out && !run.contains("DIR"))
    problems.add(benchmark.build->at,
                 fmt::format("'benchmark.build' of '{}' must write the file ${{OUT}}, or "
                             "benchmark.run must use a file in ${{DIR}}",
                             benchmark.value.name));
  else if (!run.contains("OUT") && !run.contains("DIR"))
    problems.add(
        benchmark.build->at,
        fmt::format("'benchmark.build' of '{}' writes ${{OUT}}, but benchmark.run does not use it",
                    benchmark.value.name));
}

// Finds levels that differ only in variables that this benchmark does not use.
void check_levels_differ(const DraftFactor& factor, const Names& used, const std::string& benchmark,
                         Problems& problems) {
  std::map<std::vector<std::string_view>, std::string_view> seen;
  for (const Level& level : std::get<FixedLevels>(factor.value.levels).levels) {
    std::vector<std::string_view> values;
    for (const auto& [name, value] : level.variables)
      if (used.contains(name)) values.push_back(value);
    const auto [first, is_new] = seen.emplace(std::move(values), level.name);
    if (is_new) continue;
    problems.add(
        factor.at,
        fmt::format("the levels '{}' and '{}' of the factor '{}' differ only in variables that "
                    "the benchmark '{}' does not use",
                    first->second, level.name, factor.value.name, benchmark));
    return;
  }
}

void check_user_factor(const DraftFactor& factor, const Names& used, const std::string& benchmark,
                       Problems& problems) {
  const Variables& variables = std::get<FixedLevels>(factor.value.levels).levels.front().variables;
  if (variables.empty()) return;  // the levels are revisions
  const auto is_used = [&](const auto& variable) { return used.contains(variable.first); };
  const auto count = std::ranges::count_if(variables, is_used);
  if (count == 0)
    problems.add(
        factor.at,
        fmt::format("the factor '{}' has no effect on the benchmark '{}': use {} in its build, "
                    "run, env, stdin, prepare or cleanup",
                    factor.value.name, benchmark,
                    fmt::format("${{{}}}", fmt::join(std::views::keys(variables), "} or ${"))));
  else if (std::cmp_less(count, variables.size()))
    check_levels_differ(factor, used, benchmark, problems);
}

void check_revisions(const DraftFactor& factor, const DraftBenchmark& benchmark,
                     Problems& problems) {
  if (std::get<FixedLevels>(factor.value.levels).levels.front().revision.empty()) return;
  if (benchmark.build) return;
  problems.add(benchmark.at, fmt::format("the factor '{}' has no effect on the benchmark '{}', "
                                         "which has no build: add benchmark.build",
                                         factor.value.name, benchmark.value.name));
}

void check_link_factor(const DraftFactor& factor, const DraftBenchmark& benchmark,
                       Problems& problems) {
  if (benchmark.build && acts_on_build(benchmark.value, factor.value)) return;
  problems.add(benchmark.build ? benchmark.build->at : benchmark.at,
               fmt::format("the factor '{}' acts through ${{LDFLAGS}}, which the benchmark '{}' "
                           "does not use: add ${{LDFLAGS}} to the link command in benchmark.build",
                           factor.value.name, benchmark.value.name));
}

}  // namespace

void check_beside(Draft& draft) {
  std::vector<const Factor*> factors;
  for (const DraftFactor& each : draft.factors) factors.push_back(&each.value);
  const std::set<std::string> changing = changing_names(draft.plan.variables, factors);
  for (const DraftBenchmark& benchmark : draft.benchmarks) {
    if (benchmark.value.beside.empty()) continue;
    for (const Template& text : benchmark.run) {
      const bool is_shared = text.path == "benchmark.stdin" || text.path == "benchmark.beside";
      for (const std::string& name : names_in(text.text))
        if (is_shared && changing.contains(name))
          draft.problems.add(
              text.at,
              fmt::format("in a benchmark with 'beside', '{}' must be the same for all trials, so "
                          "it cannot use ${{{}}}: write the path of an existing file instead",
                          text.path, name));
    }
    if (draft.plan.simulated || draft.plan.is_causal())
      draft.problems.add(benchmark.at,
                         "'benchmark.beside' measures CPU time, so it cannot be combined with "
                         "'measure.simulate' or a causal profile: leave out 'beside'");
    for (const Exclusion& each : draft.plan.exclude)
      if (each.quantity == "involuntary_switches_per_s")
        draft.problems.add(
            benchmark.at,
            "'benchmark.beside' interrupts each trial many times a second, so the rule about "
            "involuntary_switches_per_s would exclude every trial: leave the rule out");
  }
}

void check_builds(Draft& draft) {
  const auto inside = names_in_values(draft);
  for (const DraftBenchmark& benchmark : draft.benchmarks) {
    if (benchmark.run.empty()) continue;  // a problem that was reported already
    if (benchmark.build)
      check_with_build(benchmark, inside, draft.problems);
    else
      check_without_build(benchmark, inside, draft.problems);
  }
}

void check_factors(Draft& draft) {
  if (!draft.factors_are_good) return;
  for (const DraftBenchmark& benchmark : draft.benchmarks) {
    Names used;
    if (benchmark.build) add_names(used, *benchmark.build);
    for (const Template& text : benchmark.run) add_names(used, text);
    for (const DraftFactor& factor : draft.factors) {
      if (factor.value.kind == FactorKind::user) {
        check_user_factor(factor, used, benchmark.value.name, draft.problems);
        check_revisions(factor, benchmark, draft.problems);
      }
      if (factor.value.kind == FactorKind::link_order ||
          factor.value.kind == FactorKind::link_padding)
        check_link_factor(factor, benchmark, draft.problems);
    }
  }
}

}  // namespace stab::plan
