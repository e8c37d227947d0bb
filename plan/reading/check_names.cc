// SPDX-License-Identifier: MIT
// What ${NAME} stands for: every name is defined, nothing nests, nothing explodes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "design/expand.h"
#include "plan/reading/draft.h"
#include "plan/rules.h"
#include "plan/substitute.h"

namespace stab::plan {
namespace {

constexpr std::size_t max_run_bytes = std::size_t{1} << 20;  // argv and environment together
constexpr std::size_t link_flags_bytes = 400;                // what link_order adds, and more

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

  // At most this many bytes when every name is replaced.
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
            value.at, fmt::format("'{}' uses ${{{}}}, but the value of a variable can use only "
                                  "${{OUT}}, ${{DIR}} and ${{SRC}}: write the text itself",
                                  value.path, shown(name)));
  NameChecker checker(draft);
  for (const DraftBenchmark& benchmark : draft.benchmarks) checker.check(benchmark);
}

}  // namespace stab::plan
