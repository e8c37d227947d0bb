// SPDX-License-Identifier: MIT
#include "client/plan_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "client/streams.h"
#include "cluster/settings.h"
#include "plan/reading/read_plan.h"
#include "plan/texts.h"
#include "revisions/of_plan.h"
#include "revisions/revisions.h"

namespace stab::client {
namespace {

// Whether a shell would interpret the word: ">", "2>&1", ">out", "|", "&&".
bool is_for_a_shell(std::string_view word) {
  constexpr std::array<std::string_view, 7> whole{"|", "||", "&&", "&", ";", "|&", "<"};
  if (std::ranges::find(whole, word) != whole.end()) return true;
  const std::string_view rest = word.substr(std::min(word.find_first_not_of("012&"), word.size()));
  return rest.starts_with('>');
}

// Whether the program's own arguments may look like this, as those of shells and of programs that
// compare or search.
bool takes_such_words(std::string_view program) {
  constexpr std::array<std::string_view, 13> known{"sh",      "bash", "dash", "zsh",  "ksh",
                                                   "busybox", "env",  "expr", "test", "[",
                                                   "awk",     "find", "xargs"};
  return std::ranges::find(known, program.substr(program.rfind('/') + 1)) != known.end();
}

// Whether the plan measures commits. Only the working tree has its files in the plan's folder.
bool has_files_of_commits(const plan::Plan& plan) {
  for (const plan::Factor& factor : plan.factors)
    if (const auto* fixed = std::get_if<plan::FixedLevels>(&factor.levels))
      for (const plan::Level& level : fixed->levels)
        if (!level.revision.empty() && level.revision != plan::working_tree) return true;
  return false;
}

}  // namespace

std::vector<std::string> plan_warnings(const plan::Plan& plan) {
  std::vector<std::string> warnings;
  for (const plan::Benchmark& benchmark : plan.benchmarks) {
    if (takes_such_words(benchmark.run.front())) continue;
    const auto word = std::find_if(benchmark.run.begin() + 1, benchmark.run.end(), is_for_a_shell);
    if (word != benchmark.run.end())
      warnings.push_back(
          fmt::format("benchmark '{}' passes the argument '{}' to its program, because 'run' "
                      "starts no shell. To use a shell, write run = [\"/bin/sh\", \"-c\", \"...\"] "
                      "with the whole command in place of the dots. Trials print nothing on the "
                      "terminal, so output need not be discarded",
                      benchmark.name, one_line(*word, 60)));
  }
  if (plan.design.has_idle_order)
    warnings.emplace_back(
        "'design.order' has no effect, because the order of trials is always random within blocks. "
        "Remove this key");
  if (plan.analysis.has_idle_higher)
    warnings.emplace_back(
        "'analysis.higher' has no effect, because 'analysis.response' lists no further responses. "
        "If higher values of the response are better, set analysis.better = \"higher\"");
  if (const auto why = plan::why_only_means(plan); plan.analysis.estimand != "mean" && !why.empty())
    warnings.push_back(fmt::format(
        "no comparison gets a verdict: 'analysis.estimand' is \"{}\", but {}; remove this key",
        plan.analysis.estimand, why));
  return warnings;
}

void tell_plan_warnings(const PlanFile& file) {
  if (const auto plan = plan::read_plan(file.text))
    for (const std::string& warning : plan_warnings(*plan)) tell("warning: " + warning);
}

Result<void> check_sources(const plan::Plan& plan, const PlanFile& file) {
  if (has_files_of_commits(plan)) return {};
  for (const plan::Benchmark& benchmark : plan.benchmarks)
    for (const std::string& name : benchmark.sources) {
      std::error_code error;
      const auto path = std::filesystem::path(file.directory) / name;
      if (!std::filesystem::exists(path, error))
        return fail(fmt::format(
            "{}: 'benchmark.sources' of '{}' names {}, but {} has no such file or folder",
            file.path, benchmark.name, one_line(name, 200), file.directory));
    }
  return {};
}

void find_source(PlanFile& file) {
  auto head = revisions::head_of(file.directory);
  if (!head) return;
  file.branch = std::move(head->branch);
  file.commit = std::move(head->commit);
}

Result<std::string> machines_table(const std::string& nodes) {
  if (nodes.empty()) return "";
  const auto table = [](const std::string& value) {
    return fmt::format("\n[machines]\nengine = \"slurm\"\nnodes = {}\n", value);
  };
  const char* const end = nodes.data() + nodes.size();
  std::uint32_t number = 0;
  if (const auto [stop, error] = std::from_chars(nodes.data(), end, number);
      stop == end && error == std::errc() && number >= 1 && number <= plan::max_machines)
    return table(fmt::to_string(number));
  if (plan::node_range(nodes)) return table(fmt::format("\"{}\"", nodes));
  std::set<std::string> names;
  std::size_t words = 0;
  for (const auto word : std::views::split(nodes, ',')) {
    ++words;
    names.emplace(word.begin(), word.end());
  }
  const bool is_number = nodes.find_first_not_of("-0123456789") == std::string::npos;
  if (is_number || names.size() < words || words > plan::max_machines ||
      !std::ranges::all_of(names, plan::is_node))
    return wrong_call(fmt::format(
        "--machines {}: give the number of nodes, from 1 to {}, a range of numbers, for "
        "example 2-4, or a list of different node names separated by commas, for "
        "example n1,n2",
        one_line(nodes, 100), plan::max_machines));
  return table(fmt::format("[\"{}\"]", fmt::join(names, "\", \"")));
}

namespace {

// Chooses from the plan's range of nodes. Only Slurm knows which nodes have a feature or belong to a
// reservation, so with these the plan gets its least number.
Result<std::uint32_t> choose_nodes(const plan::Machines& machines, const plan::NodeRange& range) {
  if (!machines.constraint.empty() || !machines.reservation.empty()) return range.least;
  const auto states = cluster::node_states(machines.partition);
  if (!states)
    return fail(
        fmt::format("Slurm can't be asked how many nodes are idle: {}. Run stabctl on a machine of "
                    "the cluster that has Slurm's commands (Debian's package slurm-client), or "
                    "replace the range in machines.nodes by a number",
                    states.error().message));
  if (auto shortage = cluster::shortage_in(*states, range.least, machines.partition);
      !shortage.empty())
    return fail(std::move(shortage));
  return static_cast<std::uint32_t>(cluster::nodes_for(*states, range.least, range.most));
}

}  // namespace

Result<std::string> with_chosen_nodes(const PlanFile& file) {
  const auto plan = plan::read_plan(file.text);
  if (!plan || !plan->machines || !plan->machines->range || plan->machines->is_chosen)
    return file.text;
  const plan::NodeRange range = *plan->machines->range;
  const auto number = choose_nodes(*plan->machines, range);
  if (!number) return fail(fmt::format("{}: {}", file.path, number.error().message));
  std::string text = plan::with_defaults(std::string(plan::without_defaults(file.text)), *number);
  if (const auto read = plan::read_plan(text); !read || !read->machines->is_chosen)
    return fail(
        fmt::format("{}: stabctl can't add the number of nodes ({}) to the plan, because the plan "
                    "has a table [by_default], or would have too many trials: replace the range in "
                    "machines.nodes by a number",
                    file.path, *number));
  tell(fmt::format("from the range of {} to {} nodes, stabctl has chosen {}", range.least,
                   range.most, *number));
  return text;
}

Result<PlanFile> read_plan_file(const std::string& path, const std::string& machines) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(path, error))
    return fail(fmt::format(
        "there is no file {}: name the TOML file of a plan ('stabctl keys' explains the keys)",
        path));
  if (fs::is_directory(path, error))
    return fail(fmt::format(
        "{} is a folder: name the TOML file of a plan ('stabctl keys' explains the keys){}", path,
        fs::exists(path + "/stabd.db", error)
            ? "; to read the results in this folder: stabctl report --folder " + shell_quote(path)
            : ""));
  auto text = read_file(path, plan::max_plan_bytes);
  if (!text)
    return fail(fmt::format(
        "{}; a plan is a TOML file that you can read ('stabctl keys' explains its keys)",
        text.error().message));
  const fs::path absolute = fs::canonical(path, error);
  if (error) return fail(fmt::format("cannot find {}: {}", path, error.message()));
  PlanFile file{.path = path, .directory = absolute.parent_path().string(), .text = ""};
  auto resolved = revisions::with_commits(*text, file.directory);
  if (!resolved) return fail(fmt::format("{}: {}", path, resolved.error().message));
  const auto table = machines_table(machines);
  if (!table) return std::unexpected(table.error());
  if (const auto plan = plan::read_plan(*resolved); !table->empty() && plan && plan->machines)
    return wrong_call(
        fmt::format("{} has a table [machines]: leave out --machines, or remove the table", path));
  // The user doesn't see the table, so the positions of its problems would not help.
  if (const auto with = plan::read_plan(*resolved + *table); !with && plan::read_plan(*resolved)) {
    std::vector<std::string> problems;
    for (const toml::Problem& each : with.error()) problems.push_back(each.message);
    return fail(
        fmt::format("{}: --machines {} adds a table [machines], which does not fit this plan: {}",
                    path, one_line(machines, 100), fmt::join(problems, "; ")));
  }
  file.text = plan::with_defaults(*resolved + *table);
  find_source(file);
  return file;
}

}  // namespace stab::client
