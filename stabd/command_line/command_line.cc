// SPDX-License-Identifier: MIT
#include "stabd/command_line/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "stabd/client/output.h"
#include "stabd/command_line/exit_codes.h"
#include "stabd/paths.h"

namespace stab::command_line {

using namespace client;

namespace {

std::string exit_codes() {
  std::string text = "Exit codes:\n";
  for (const ExitCodeRow& row : exit_code_table)
    text += fmt::format("  {:<6} {}\n", row.code, row.meaning);
  return text + exit_code_notes;
}

int refused(const Error& error) {
  client::tell("stabctl: " + error.message);
  return exit_error;
}

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>("stabctl gives plans to stabd and shows what came out.")) {
  app_->set_version_flag("--version", "stabctl " STAB_VERSION);
  app_->add_option("--socket", arguments_.socket,
                   "Unix socket of stabd; else those are tried: " +
                       fmt::format("{}", fmt::join(sockets_of_daemons(), ", ")));
  app_->require_subcommand(1);
  app_->footer(exit_codes());
  add_ab();
  add_plan_verbs();
  add_experiment_verbs();
  add_result_verbs();
  add_replay();
  add_profile();
  add_analyze();
  add_machine_verbs();
  add_database_verbs();
}

CommandLine::~CommandLine() = default;

int CommandLine::run(int argc, char** argv) {
  const auto code = parse_and_act(argc, argv);
  const auto written = flush_output();
  if (!code) return refused(code.error());
  return written ? *code : refused(written.error());
}

Result<int> CommandLine::parse_and_act(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? exit_ok : exit_error;
  }
  const auto fail_on = read_fail_on(arguments_.fail_on);
  if (!fail_on) return std::unexpected(fail_on.error());
  arguments_.common.sockets = arguments_.socket.empty()
                                  ? sockets_of_daemons()
                                  : std::vector<std::string>{arguments_.socket};
  arguments_.common.fail_on = arguments_.run.fail_on = arguments_.ab.fail_on =
      arguments_.analyze.fail_on = *fail_on;
  return action_();
}

CLI::App* CommandLine::verb(const char* name, const char* help, Action action) {
  CLI::App* added = app_->add_subcommand(name, help);
  added->fallthrough();
  added->callback([this, action = std::move(action)] { action_ = action; });
  return added;
}

void CommandLine::fail_on_option(CLI::App* verb) {
  verb->add_option("--fail-on", arguments_.fail_on,
                   "What exits with another code than 0: a list of trials, regressed, unsure; or "
                   "none")
      ->capture_default_str()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void CommandLine::full_flag(CLI::App* verb) {
  verb->add_flag("--full", arguments_.common.full,
                 "Text: all tables; else the answer, the changes and what must be known of the "
                 "rest");
}

void CommandLine::json_flag(CLI::App* verb) {
  verb->add_flag("--json", arguments_.common.json, "Print JSON");
}

}  // namespace stab::command_line
