// SPDX-License-Identifier: MIT
#include "revisions/of_plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <variant>

#include "base/text.h"
#include "machine/program.h"
#include "plan/reading/read_plan.h"
#include "revisions/revisions.h"

namespace stab::revisions {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::string factor;
  std::string revision;
};

std::vector<Named> revisions_of(const plan::Plan& plan) {
  std::vector<Named> found;
  for (const plan::Factor& factor : plan.factors)
    if (const auto* fixed = std::get_if<plan::FixedLevels>(&factor.levels))
      for (const plan::Level& level : fixed->levels)
        if (!level.revision.empty())
          found.push_back({.factor = factor.name, .revision = level.revision});
  return found;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

// Runs git with the variables of builds. If git would refuse a revision to the builds, the plan is
// refused now.
Repository as_builds_see_it(const std::string& directory) {
  Repository repository(directory);
  repository.how.environment = machine::make_environment(machine::base_variables(geteuid()), 0);
  return repository;
}

std::string advice_on(std::string_view refusal) {
  if (!refusal.contains("dubious ownership")) return "";
  return geteuid() == 0 ? "; root does the building: run that command as root, or run stabctl as "
                          "the repository's owner"
                        : "";
}

// Checks that the commit has the files that the builds read.
Result<void> check_files(const plan::Plan& plan, const Repository& repository, const Named& named,
                         const std::string& commit) {
  const auto way = way_from_top(repository);
  if (!way) return std::unexpected(way.error());
  std::set<std::string> paths;
  if (!way->empty()) paths.insert(*way);
  for (const plan::Benchmark& benchmark : plan.benchmarks)
    for (const std::string& source : benchmark.sources) paths.insert(*way + source);
  for (const std::string& each : paths) {
    std::string path = fs::path(each).lexically_normal().string();
    if (path.ends_with('/')) path.pop_back();
    if (path.empty() || path == ".") continue;
    const auto there = has(repository, commit, path);
    if (!there) return std::unexpected(there.error());
    if (!*there)
      return fail(
          fmt::format("'factor.{}': the revision {} does not contain {}: choose revisions that "
                      "contain everything that the plan builds",
                      named.factor, one_line(named.revision, 100), one_line(path, 300)));
  }
  return {};
}

}  // namespace

Result<std::string> with_commits(const std::string& text, const std::string& directory) {
  const auto plan = plan::read_plan(text);
  if (!plan) return text;
  const std::vector<Named> all = revisions_of(*plan);
  if (all.empty()) return text;
  const Repository repository = as_builds_see_it(directory);
  if (const auto top = way_from_top(repository); !top)
    return fail(
        fmt::format("'factor.{}' names revisions, so the plan must be in a git repository: {}{}",
                    all.front().factor, top.error().message, advice_on(top.error().message)));
  std::map<std::string, std::string> added;
  for (const Named& each : all) {
    const bool uncommitted = each.revision == working_tree;
    const auto commit = commit_of(repository, uncommitted ? "HEAD" : each.revision);
    if (!commit) return fail(fmt::format("'factor.{}': {}", each.factor, commit.error().message));
    if (auto whole = is_whole(repository, uncommitted ? each.revision : *commit); !whole)
      return fail(fmt::format("'factor.{}': {}", each.factor, whole.error().message));
    if (uncommitted) continue;
    if (auto good = check_files(*plan, repository, each, *commit); !good)
      return std::unexpected(good.error());
    if (!plan::is_resolved(each.revision)) added.emplace(each.revision, *commit);
  }
  if (added.empty()) return text;
  std::string result =
      text + "\n\n# Added by stabctl: the commits of these revisions.\n[revisions]\n";
  for (const auto& [revision, commit] : added)
    result += fmt::format("{} = \"{}\"\n", quoted(revision), commit);
  // If our lines have an error, the plan already has a table of that name, in one of TOML's two
  // notations.
  const auto lines = static_cast<std::uint32_t>(std::ranges::count(text, '\n')) + 1;
  if (const auto read = plan::read_plan(result); !read)
    for (const auto& problem : read.error())
      if (problem.line > lines)
        return fail(
            fmt::format("the plan's table 'revisions' lacks {}: add {} = \"{}\" to the table, or "
                        "remove the table and let stabctl add a complete one",
                        one_line(added.begin()->first, 100), quoted(added.begin()->first),
                        added.begin()->second));
  return result;
}

std::string unresolved(const plan::Plan& plan) {
  for (const Named& each : revisions_of(plan))
    if (!plan::is_resolved(each.revision))
      return fmt::format("'{}' of factor.{}", one_line(each.revision, 100), each.factor);
  return "";
}

}  // namespace stab::revisions
