// SPDX-License-Identifier: MIT
#include "stabd/command_line/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "client/streams.h"
#include "client/web/web.h"
#include "protocol/paths.h"
#include "stabd/command_line/help.h"
#include "stabd/manual.h"

namespace stab::command_line {

using namespace client;

namespace {

constexpr const char* end_of_options = "--end-of-options";

std::string exit_codes() {
  std::string text = "Exit codes:\n";
  for (const ExitCodeRow& row : exit_code_table)
    text += fmt::format("  {:<6} {}\n", row.code, row.meaning);
  return text + exit_code_notes;
}

// The five commands that people need first, which stabctl prints without arguments. The lines fit a
// terminal of 80 columns.
constexpr std::string_view first_steps =
    "stabctl measures programs and says which version is faster. Start with these:\n\n  stabctl ab "
    "-- 'sort -n numbers' 'sort -g numbers'   Which command is faster?\n  stabctl check plan.toml  "
    "                           What would this plan run?\n  stabctl run plan.toml                 "
    "              Run it and print a report\n  stabctl report --folder FOLDER --full              "
    " All tables of a run\n  stabctl doctor                                      Can this machine "
    "measure?\n\n'stabctl --help' lists all verbs, and 'stabctl VERB --help' explains one.\n";

// Ends an error about the words of a command.
std::string help_of(const std::string& command) {
  return fmt::format("; '{} --help' shows how to call it", command);
}

int refused(const Error& error) {
  client::tell("stabctl: " + error.message);
  return exit_error;
}

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(
          "stabctl measures programs and says which version is faster.")) {
  app_->set_version_flag("--version", "stabctl " STAB_VERSION);
  app_->add_option("--socket", arguments_.socket,
                   "Talk to the daemon at this Unix socket; by default, to your own daemon if one "
                   "is running, and otherwise to the system's daemon");
  app_->add_flag(end_of_options)->group("");
  app_->require_subcommand(1);
  app_->footer(exit_codes());
  add_ab();
  add_plan_verbs();
  add_experiment_verbs();
  add_result_verbs();
  add_replay();
  add_profile();
  add_history();
  add_causal();
  add_analyze();
  add_machine_verbs();
  add_database_verbs();
  add_help_verbs();
  add_examples(*app_, "");
}

CommandLine::~CommandLine() = default;

int CommandLine::run(int argc, char** argv) {
  const auto code = parse_and_act(argc, argv);
  const auto written = flush_output();
  if (!code) return refused(code.error());
  return written ? *code : refused(written.error());
}

Result<int> CommandLine::parse_and_act(int argc, char** argv) {
  if (argc == 1) {
    if (auto written = write_output(std::string(first_steps), "", Colours::none); !written)
      return std::unexpected(written.error());
    return exit_error;
  }
  try {
    parse({argv, argv + argc});
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return fail(refusal({argv, argv + argc}));
    app_->exit(error);  // --help and --version
    return exit_ok;
  }
  if (const std::string wrong = wrong_words_of_ab({argv, argv + argc}); !wrong.empty())
    return fail(wrong);
  if (auto right = after_parsing(); !right)
    return fail(right.error().message + (right.error().of_call ? help_of(called().name) : ""));
  auto code = action_();
  if (!code && code.error().of_call) code.error().message += help_of(called().name);
  return code;
}

// CLI11 loses a -- after an option that takes any number of words. Inserting an option before the
// -- ends those words.
void CommandLine::parse(std::vector<const char*> argv) {
  const auto mark = std::ranges::find_if(argv, [](std::string_view word) { return word == "--"; });
  if (mark != argv.end()) argv.insert(mark, end_of_options);
  app_->parse(static_cast<int>(argv.size()), argv.data());
}

Result<void> CommandLine::after_parsing() {
  const auto fail_on = read_fail_on(arguments_.fail_on);
  if (!fail_on) return std::unexpected(fail_on.error());
  arguments_.common.sockets = arguments_.socket.empty()
                                  ? sockets_of_daemons()
                                  : std::vector<std::string>{arguments_.socket};
  arguments_.common.fail_on = arguments_.run.fail_on = arguments_.ab.fail_on =
      arguments_.analyze.fail_on = *fail_on;
  return {};
}

// Words on both sides of -- may be programs and their arguments, or a mistake by the user.
std::string CommandLine::wrong_words_of_ab(std::span<const char* const> argv) const {
  const AbOptions& ab = arguments_.ab;
  const auto mark = std::ranges::find_if(argv, [](std::string_view word) { return word == "--"; });
  if (mark == argv.end() || !ab.programs.empty() || !ab.build.empty()) return "";
  const std::vector<std::string> behind(mark + 1, argv.end());
  std::vector<std::string> before = ab.words;
  if (before.size() >= behind.size() && std::equal(behind.rbegin(), behind.rend(), before.rbegin()))
    before.resize(before.size() - behind.size());
  if (behind.empty() || before.empty()) return "";
  const std::string programs = one_line(fmt::format("{}", fmt::join(before, " ")), 100);
  return fmt::format(
      "'stabctl ab' can't tell whether {} are programs. If they are programs, write 'stabctl ab "
      "--program {} -- {}'. Otherwise, write whole commands after --, each in quotes",
      programs, programs, one_line(fmt::format("{}", fmt::join(behind, " ")), 100));
}

Result<void> CommandLine::accepts(const std::vector<std::string>& words) {
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  try {
    parse(argv);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? fail("the command only asks for help")
                                      : fail(refusal(argv));
  }
  if (const std::string wrong = wrong_words_of_ab(argv); !wrong.empty()) return fail(wrong);
  return after_parsing();
}

const CLI::App* CommandLine::find_verb_or_null(const CLI::App& app, const std::string& word) {
  for (const CLI::App* each : app.get_subcommands({}))
    if (each->check_name(word)) return each;
  return nullptr;
}

std::string CommandLine::no_such_verb(const CLI::App& app, const std::string& name,
                                      const std::string& word) {
  std::vector<std::string> verbs;
  for (const CLI::App* each : app.get_subcommands({})) verbs.push_back(each->get_name());
  const std::string meant = nearest(word, verbs);
  return fmt::format("there is no '{} {}'{} '{} --help' lists the verbs", name, one_line(word, 60),
                     meant.empty() ? ";" : ", did you mean '" + meant + "'?", name);
}

std::string CommandLine::no_such_option(const CLI::App& app, const std::string& name,
                                        const std::string& word) {
  std::vector<std::string> options;
  for (const CLI::App* each = &app; each != nullptr; each = each->get_parent())
    for (const CLI::Option* option : each->get_options())
      for (const std::string& own : option->get_lnames())
        if (!option->get_group().empty()) options.push_back("--" + own);
  const std::string meant = nearest(word, options);
  return fmt::format("'{}' has no option '{}'{} '{} --help' lists them", name, one_line(word, 60),
                     meant.empty() ? ";" : ", did you mean '" + meant + "'?", name);
}

CommandLine::Called CommandLine::called() const {
  Called called{.app = app_.get(), .name = "stabctl"};
  while (!called.app->get_subcommands().empty()) {
    called.app = called.app->get_subcommands().front();
    called.name += " " + called.app->get_name();
  }
  return called;
}

std::string CommandLine::unknown_word() const {
  const auto [app, name] = called();
  auto words = app_->remaining(true);
  words.erase(std::ranges::find(words, "--"), words.end());
  for (const std::string& word : words) {
    if (word.starts_with("--")) return no_such_option(*app, name, word.substr(0, word.find('=')));
    if (!word.starts_with('-') && app->get_require_subcommand_min() > 0)
      return no_such_verb(*app, name, word);
  }
  return "";
}

namespace {

// "--runs", or "ID" for a positional argument.
std::string shown_name(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) return "-" + option.get_snames().front();
  return option.get_name(true);
}

bool is_number(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
}

// "a whole number from 1 to 10000", derived from CLI11's description of a type and its bounds.
std::string rule_of(const CLI::Option& option) {
  const auto words = manual::words_of(option);
  if (!words.empty()) return fmt::format("one of {}", fmt::join(words, ", "));
  const std::string type = option.get_type_name();
  if (!is_number(option)) return "another value";
  std::string rule = type.starts_with("FLOAT") ? "a number" : "a whole number";
  const std::size_t open = type.find(" in [");
  const std::size_t close = type.find(']');
  const std::size_t dash = type.find(" - ");
  if (open < dash && dash < close && close != std::string::npos)
    return fmt::format("{} from {} to {}", rule, type.substr(open + 5, dash - open - 5),
                       type.substr(dash + 3, close - dash - 3));
  if (type.contains("NONNEGATIVE") || type.starts_with("UINT"))
    return rule + " that is not negative";
  return type.contains("POSITIVE") ? rule + " above 0" : rule;
}

bool is_right(CLI::Option& option, std::string value) {
  if (is_number(option)) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = value.find_first_of(".eE") == std::string::npos;
    if (error != std::errc() || end != value.data() + value.size() ||
        (!whole && !option.get_type_name().starts_with("FLOAT")))
      return false;
  }
  for (int i = 0;; ++i) {
    CLI::Validator* validator = nullptr;
    try {
      validator = option.get_validator(i);
    } catch (const CLI::OptionNotFound&) {
      return true;
    }
    if (!(*validator)(value).empty()) return false;
  }
}

// The problem with this option's values, or the value that it lacks; "" if it is right.
std::string wrong_in(CLI::Option& option, const std::string& verb,
                     std::span<const char* const> argv) {
  const std::string name = shown_name(option);
  const int least = option.get_items_expected_min();
  const auto is_named = [&](std::string_view word) {
    return word.starts_with('-') && option.check_name(std::string(word.substr(0, word.find('='))));
  };
  if (option.count() == 0) {
    if (least > 0 && option.nonpositional() && std::ranges::any_of(argv, is_named))
      return fmt::format("'{} {}' needs a value after it", verb, name);
    if (option.get_required())
      return fmt::format("'{}' needs '{}' ({})", verb, name, option.get_description());
    return "";
  }
  const auto values = option.results();
  if (std::cmp_less(values.size(), least))
    return fmt::format("'{} {}' needs at least {} values, but got {}", verb, name, least,
                       values.size());
  if (least > 0 && option.get_multi_option_policy() == CLI::MultiOptionPolicy::Throw &&
      std::cmp_greater(values.size(), option.get_items_expected_max()))
    return fmt::format("'{} {}' takes at most {} value{}, but got {}", verb, name,
                       option.get_items_expected_max(),
                       option.get_items_expected_max() == 1 ? "" : "s", values.size());
  if (least > 0)
    for (const std::string& value : values)
      if (!is_right(option, value))
        return fmt::format("'{} {}' must be {}, not '{}'", verb, name, rule_of(option),
                           one_line(value, 60));
  for (const CLI::Option* other : option.get_excludes())
    if (other->count() > 0)
      return fmt::format("'{}': {} and {} cannot be used together; leave one of them out", verb,
                         name, shown_name(*other));
  for (const CLI::Option* other : option.get_needs())
    if (other->count() == 0)
      return fmt::format("'{}': {} also needs {}", verb, name, shown_name(*other));
  return "";
}

// A user who names a database, or its folder, where a number belongs learns the right option.
std::string folder_instead(const CLI::App& app, const CLI::Option& option) {
  if (option.nonpositional() || app.get_option_no_throw("--folder") == nullptr) return "";
  for (const std::string& value : option.results()) {
    const std::filesystem::path path(value);
    const bool is_database = path.filename() == "stabd.db";
    if (!is_database && !value.contains('/')) continue;
    const std::string folder = is_database ? path.parent_path().string() : value;
    return "; to use the results in a folder, write --folder " +
           shell_quote(folder.empty() ? "." : folder);
  }
  return "";
}

}  // namespace

// Replaces the parser's message by our own.
std::string CommandLine::refusal(std::span<const char* const> argv) const {
  const std::string unknown = unknown_word();
  if (!unknown.empty()) return unknown;
  if (const std::string wrong = wrong_words_of_ab(argv); !wrong.empty()) return wrong;
  const auto [called_app, name] = called();
  const std::string help = help_of(name);
  auto words = app_->remaining(true);
  words.erase(std::ranges::find(words, "--"), words.end());
  if (!words.empty())
    return fmt::format("'{}' does not take '{}'{}", name, one_line(words.front(), 60), help);
  for (CLI::App* app = called_app; app != nullptr; app = app->get_parent())
    for (CLI::Option* option : app->get_options())
      if (const std::string wrong = wrong_in(*option, name, argv); !wrong.empty())
        return wrong + folder_instead(*app, *option) + help;
  if (called_app->get_require_subcommand_min() > 0)
    return fmt::format("a verb is needed; '{} --help' lists the verbs", name);
  return fmt::format("'{}' does not understand its arguments{}", name, help);
}

void CommandLine::add_examples(CLI::App& app, const std::string& name) {
  for (CLI::App* verb : app.get_subcommands({})) {
    const std::string own = name.empty() ? verb->get_name() : name + " " + verb->get_name();
    verb->footer(examples_text(own));
    add_examples(*verb, own);
  }
}

CLI::App* CommandLine::verb(const char* name, const char* help, Action action) {
  CLI::App* added = app_->add_subcommand(name, help);
  added->fallthrough();
  added->callback([this, action = std::move(action)] { action_ = action; });
  return added;
}

CLI::Option* CommandLine::fail_on_option(CLI::App* verb) {
  return verb
      ->add_option("--fail-on", arguments_.fail_on,
                   "Make the exit code nonzero for these findings, separated by commas; 'none' "
                   "ignores all findings")
      ->type_name("LIST:{trials,regressed,unsure,none}")
      ->capture_default_str()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void CommandLine::full_flag(CLI::App* verb) {
  verb->add_flag("--full", arguments_.common.full,
                 "Print all tables, notes and settings. By default one screen is printed: the "
                 "answer, how far to trust it, the changes, and what to do next");
}

void CommandLine::machines_option(CLI::App* verb, std::string& machines) {
  verb->add_option("--machines", machines,
                   "Measure on nodes of a Slurm cluster (see doc/cluster.md). Give the number of "
                   "nodes, for example 4, a range, for example 2-4, or the names of nodes, for "
                   "example n1,n2")
      ->type_name("NODES");
}

CLI::Option* CommandLine::dry_run_flag(CLI::App* verb) {
  return verb->add_flag(
      "--dry-run", arguments_.dry,
      "For a plan that runs on nodes of a Slurm cluster: only print the Slurm commands "
      "that stabd would run");
}

CLI::Option* CommandLine::web_flag(CLI::App* verb) {
  return verb->add_flag(
      "--web{0}", arguments_.web,
      "Also serve the report as a live page for browsers on this machine. --web=PORT or "
      "--web=ADDRESS:PORT chooses the port; the default is any free port");
}

Result<void> follow_by_page(const std::string& where, client::Follower& follow) {
  if (where.empty()) return {};
  auto page = client::web::follower(where);
  if (!page) return std::unexpected(page.error());
  follow = std::move(*page);
  return {};
}

CLI::Option* CommandLine::json_flag(CLI::App* verb) {
  return verb->add_flag("--json", arguments_.common.json, "Print JSON");
}

}  // namespace stab::command_line
