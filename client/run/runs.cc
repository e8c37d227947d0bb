// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <ranges>

#include "base/text.h"
#include "client/output.h"
#include "client/run/folder.h"
#include "client/run/left.h"
#include "client/verbs.h"
#include "protocol/codec.h"

namespace stab::client {
namespace {

// If the daemon was killed, the row still says `running`.
std::string state_of(const LeftRun& run) {
  if (run.running || run.ended_ns || !run.id) return run.state;
  return "interrupted";
}

std::string line_of(const LeftRun& run) {
  std::string line = fmt::format(
      "{:<11}  {:>7} of {:>7} trials  {:<19}  {}  {}", state_of(run),
      run.done ? std::to_string(*run.done) : "?", run.trials, local_time(run.submitted_ns),
      run.name.empty() ? "?" : one_line(run.name, 100), for_terminal(run.folder));
  if (run.verb) line += fmt::format("  (run the same 'stabctl {}' to continue)", *run.verb);
  if (!run.problem.empty()) line += "  (" + one_line(run.problem, 300) + ")";
  return line;
}

}  // namespace

Result<int> runs(const Common& common) {
  const std::string folder = folder_of_runs();
  const auto found = left_runs(folder);
  if (!found) return std::unexpected(found.error());
  if (common.json) {
    if (auto printed = write_json(protocol::to_text(*found, 2)); !printed)
      return std::unexpected(printed.error());
    return exit_ok;
  }
  if (found->empty())
    fmt::print("there are no runs in {}: 'stabctl run plan.toml' makes one\n", folder);
  for (const LeftRun& run : *found) fmt::print("{}\n", line_of(run));
  return exit_ok;
}

std::vector<std::string> completed_folders(const std::string& beginning) {
  std::vector<std::string> lines;
  auto found = left_runs(folder_of_runs());
  if (!found) return lines;
  for (const LeftRun& run : *found | std::views::reverse)
    if (run.id && run.folder.starts_with(beginning))
      lines.push_back(
          fmt::format("{}\t{} ({})", run.folder, one_line(run.name, 60), one_line(run.state, 20)));
  return lines;
}

}  // namespace stab::client
