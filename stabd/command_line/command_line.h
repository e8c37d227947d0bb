// SPDX-License-Identifier: MIT
// The verbs and options of stabctl, and the functions in client that they call. Add a new verb to
// verbs.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/ab/ab.h"
#include "client/analyze.h"
#include "client/causal.h"
#include "client/history.h"
#include "client/verbs.h"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace stab::command_line {

using client::AnalyzeOptions;
using client::Common;
using client::MachineOptions;
using client::RunOptions;
using client::ab::AbOptions;

struct Arguments {
  Common common;
  std::string socket;
  std::string plan;
  std::string sd;
  std::string fail_on = "trials";  // a verdict is not a failure
  std::string report_fail_on;      // "": no finding of a report is a failure
  std::int64_t id = 0;
  client::ReplayOptions replay;
  client::ProfileOptions profile;
  std::vector<std::int64_t> ids;
  std::int64_t priority = 0;
  bool wait = false;
  std::string web;  // "": no page
  bool quantities = false;
  bool queue = false;
  bool daemon = false;
  bool dry = false;
  bool follow = false;
  std::string report_format = "text";
  client::ExportOptions rows;
  std::string output;
  std::string from;
  std::string archive;
  RunOptions run;
  AbOptions ab;
  client::ab::DemoOptions demo;
  AnalyzeOptions analyze;
  MachineOptions machine;
  client::CounterOptions counters;
  client::CompilerOptions compiler;
  client::SqlOptions sql;
  client::HistoryOptions history;
  client::causal::CausalOptions causal;
  client::causal::VerifyOptions verify;
  std::vector<std::string> words;
  std::string shell;
  bool man = false;
};

// Makes `follow` also show the run as a page at `where`; with "", `follow` stays as it is.
Result<void> follow_by_page(const std::string& where, client::Follower& follow);

class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();
  // Checks a command line, whose first word is the program's name, without acting on it.
  Result<void> accepts(const std::vector<std::string>& words);
  // Returns stabctl's exit code. Every verb fails if its output can't be written.
  int run(int argc, char** argv);

 private:
  using Action = std::function<Result<int>()>;

  Result<int> parse_and_act(int argc, char** argv);
  Result<void> after_parsing();
  void parse(std::vector<const char*> argv);
  // The verb that the parsed words name, and the way users write it.
  struct Called {
    CLI::App* app;
    std::string name;
  };
  Called called() const;
  // A message about words that do not parse. It ends with a command that helps.
  std::string refusal(std::span<const char* const> argv) const;
  // The message for a verb or option that does not exist; otherwise "".
  std::string unknown_word() const;
  // The problem with the words of `ab` around --; "" if they are right.
  std::string wrong_words_of_ab(std::span<const char* const> argv) const;
  static std::string no_such_option(const CLI::App& app, const std::string& name,
                                    const std::string& word);
  static std::string no_such_verb(const CLI::App& app, const std::string& name,
                                  const std::string& word);
  static const CLI::App* find_verb_or_null(const CLI::App& app, const std::string& word);
  Result<int> help(const std::vector<std::string>& verbs, bool man);
  Result<int> print_completion(const std::string& shell, const std::vector<std::string>& words);
  CLI::App* verb(const char* name, const char* help, Action action);
  CLI::Option* fail_on_option(CLI::App* verb);
  void full_flag(CLI::App* verb);
  CLI::Option* dry_run_flag(CLI::App* verb);
  CLI::Option* web_flag(CLI::App* verb);
  static void machines_option(CLI::App* verb, std::string& machines);
  CLI::Option* json_flag(CLI::App* verb);
  // verbs.cc
  void add_ab();
  void add_plan_verbs();
  void add_experiment_verbs();
  void add_result_verbs();
  void add_replay();
  void add_profile();
  void add_history();
  void add_analyze();
  void add_causal();
  void add_database_verbs();
  void add_machine_verbs();
  // help.cc
  void add_help_verbs();
  void add_examples(CLI::App& app, const std::string& name);
  Action on_machine(Result<int> (*what)(const MachineOptions&));
  void machine_options(CLI::App* verb);

  // The header of CLI::App is large, so only the files of this folder include it.
  std::unique_ptr<CLI::App> app_;
  Arguments arguments_;
  CLI::Option* report_judges_ = nullptr;  // --fail-on of `report`, to see whether it was given
  Action action_;
};

}  // namespace stab::command_line
