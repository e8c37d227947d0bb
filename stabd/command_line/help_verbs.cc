// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/client.h"
#include "client/output.h"
#include "client/stored.h"
#include "stabd/command_line/command_line.h"
#include "stabd/command_line/completion.h"
#include "stabd/command_line/exit_codes.h"
#include "stabd/manual/manual.h"

namespace stab::command_line {

using namespace client;

namespace {

// The option's name without the default value that CLI11 appends to it, as in "--web{0}".
std::string name_of(const CLI::Option& option) {
  const std::string name = option.get_name(true, true);
  return name.substr(0, name.find('{'));
}

nlohmann::ordered_json as_json(const CLI::App& app) {
  nlohmann::ordered_json options = nlohmann::ordered_json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    options.push_back({{"name", name_of(*option)},
                       {"about", option->get_description()},
                       {"positional", !option->nonpositional()},
                       {"required", option->get_required()},
                       {"words", manual::words_of(*option)},
                       {"default", option->get_default_str()}});
  }
  nlohmann::ordered_json verbs = nlohmann::ordered_json::array();
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(as_json(*verb));
  return {{"name", app.get_name()},
          {"about", app.get_description()},
          {"options", options},
          {"verbs", verbs}};
}

std::string exit_status() {
  std::string text;
  for (const ExitCodeRow& row : exit_code_table)
    text += fmt::format("  {:<6} {}\n", row.code, row.meaning);
  return text + exit_code_notes + "\n";
}

std::string manual_of(const CLI::App& app, const std::string& name) {
  return manual::page_of(app, {.name = name,
                               .parts = {{.title = "EXIT STATUS", .text = exit_status()},
                                         {.title = "SEE ALSO", .text = "stabd(8), szc(1)\n"}}});
}

// Leaves out candidates that come late, because nobody waits long at a prompt.
void end_soon() {
  signal(SIGALRM, [](int) { _exit(0); });
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 700'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
}

void print_experiment(std::int64_t id, const std::string& name, const std::string& state,
                      const std::string& current) {
  if (const std::string number = std::to_string(id); number.starts_with(current))
    fmt::print("{}\t{} ({})\n", number, one_line(name, 60), one_line(state, 20));
}

void print_experiments_in(const std::string& folder, const std::string& current) {
  end_soon();
  const auto stored = open_stored(folder);
  if (!stored) return;
  const auto found = stored->reader->experiments();
  if (!found) return;
  for (const store::Experiment& each : found->intact)
    print_experiment(each.id, each.name, each.state, current);
}

void print_folders(const std::string& current) {
  end_soon();
  for (const std::string& line : completed_folders(current)) fmt::print("{}\n", line);
}

void print_experiments(const std::vector<std::string>& sockets, const std::string& current) {
  end_soon();
  auto client = Client::connect(sockets);
  if (!client) return;
  const auto answer = client->ask(protocol::ListRequest{});
  if (!answer) return;
  for (const protocol::Summary& row : answer->experiments)
    print_experiment(row.id, row.name, row.state, current);
}

}  // namespace

Result<int> CommandLine::help(const std::vector<std::string>& verbs, bool man) {
  const CLI::App* app = app_.get();
  std::string name = "stabctl";
  std::string before;
  for (const std::string& word : verbs) {
    const CLI::App* const verb = find_verb_or_null(*app, word);
    if (verb == nullptr) return fail(no_such_verb(*app, name, word));
    before = name;
    name += " " + word;
    app = verb;
  }
  const std::string text =
      arguments_.common.json ? as_json(*app).dump(2) + "\n"
      : man                  ? manual_of(*app, name)
            // App::help() would describe the verb that was called, which is 'help'.
            : app->get_formatter()->make_help(
                  app, before + (before.empty() ? "" : " ") + app->get_name(),
                  CLI::AppFormatMode::Normal);
  if (auto written = write_output(text, "", Colours::none); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

Result<int> CommandLine::print_completion(const std::string& shell,
                                          const std::vector<std::string>& words) {
  if (shell != "words") {
    if (auto written = write_output(completion_script(shell), "", Colours::none); !written)
      return std::unexpected(written.error());
    return exit_ok;
  }
  const Completion completion = complete(*app_, words);
  for (const Candidate& each : completion.candidates)
    fmt::print("{}\t{}\n", each.word, one_line(each.about, 100));
  if (completion.also == Also::files || completion.also == Also::folders) fmt::print(":files\n");
  if (completion.also == Also::plans) fmt::print(":plans\n");
  if (auto printed = flush_output(); !printed) return std::unexpected(printed.error());
  if (completion.also == Also::folders) print_folders(words.back());
  if (completion.also != Also::experiments) return exit_ok;
  if (!completion.folder.empty()) {
    print_experiments_in(completion.folder, words.back());
    return exit_ok;
  }
  const auto named = std::ranges::find(words, "--socket");
  print_experiments(words.end() - named > 2 ? std::vector{*(named + 1)} : arguments_.common.sockets,
                    words.back());
  return exit_ok;
}

void CommandLine::add_help_verbs() {
  Arguments& a = arguments_;
  CLI::App* help_verb = verb("help", "Show help or the manual page of a verb",
                             [this, &a] { return help(a.words, a.man); });
  help_verb->add_option("verb", a.words, "The verb; by default stabctl itself")->expected(0, 2);
  CLI::Option* man =
      help_verb->add_flag("--man", a.man, "Print a manual page: stabctl help --man | man -l -");
  json_flag(help_verb)->excludes(man);
  CLI::App* completion =
      verb("completion", "Print a shell script that completes verbs, options, plans and numbers",
           [this, &a] { return print_completion(a.shell, a.words); });
  completion
      ->add_option("shell", a.shell,
                   "The shell; 'words' is used by the script itself to ask what may follow the "
                   "words after --")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "words"}));
  completion->add_option("words", a.words, "With 'words': the words on the command line, after --");
}

}  // namespace stab::command_line
