// SPDX-License-Identifier: MIT
#include "stabd/command_line/help.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "client/client.h"
#include "client/run_folder.h"
#include "client/streams.h"
#include "stabd/command_line/command_line.h"
#include "stabd/manual.h"

namespace stab::command_line {
namespace {

constexpr auto example_table = std::to_array<Example>({
    {"ab", "stabctl ab -- 'sort -n numbers' 'sort -g numbers'"},
    {"ab", "stabctl ab --program ./old ./new -- --size 1000 input"},
    {"ab",
     "stabctl ab main . --build 'make CC=\"$CC\"' --run './bench 1000' --fail-on "
     "trials,regressed"},
    {"demo", "stabctl demo"},
    {"run", "stabctl run plans/quickstart.toml"},
    {"run", "stabctl run --folder results --full plan.toml"},
    {"run", "stabctl run --fail-on trials,regressed plan.toml  # a gate in CI"},
    {"submit", "stabctl submit plan.toml"},
    {"submit", "stabctl submit --machines 4 plan.toml"},
    {"submit", "stabctl submit --wait --priority -10 plan.toml"},
    {"check", "stabctl check plan.toml"},
    {"check", "stabctl check --noise 2% plan.toml  # the smallest change it can detect"},
    {"keys", "stabctl keys"},
    {"keys", "stabctl keys --quantities"},
    {"runs", "stabctl runs"},
    {"list", "stabctl list"},
    {"list", "stabctl list --json"},
    {"status", "stabctl status 1"},
    {"status", "stabctl status --daemon"},
    {"watch", "stabctl watch 1"},
    {"watch", "stabctl watch --web 1  # also as a live page"},
    {"watch", "stabctl watch --fail-on trials,regressed,unsure 1"},
    {"cancel", "stabctl cancel 1"},
    {"pause", "stabctl pause 1 2"},
    {"pause", "stabctl pause --queue"},
    {"resume", "stabctl resume 1 2"},
    {"resume", "stabctl resume --queue"},
    {"retry", "stabctl retry 1"},
    {"rm", "stabctl rm --dry-run 1 2"},
    {"rm", "stabctl rm --folder results 1"},
    {"report", "stabctl report 1"},
    {"report", "stabctl report --full --folder results"},
    {"report", "stabctl report 1 --metric cpu --format json -o report.json"},
    {"logs", "stabctl logs 1"},
    {"logs", "stabctl logs -f 1"},
    {"compare", "stabctl compare 1  # verdicts of experiment 1"},
    {"compare", "stabctl compare 1 2  # changes from experiment 1 to 2"},
    {"export", "stabctl export 1 --format csv -o trials.csv"},
    {"export", "stabctl export 1 --format benchstat >new.txt"},
    {"export", "stabctl export 1 --archive experiment.stab"},
    {"history", "stabctl history sort"},
    {"history", "stabctl history sort --folder results --metric cpu --last 50"},
    {"replay", "stabctl replay 1 57"},
    {"replay", "stabctl replay 1 57 -- perf record -g"},
    {"replay", "stabctl replay --print 1 57"},
    {"profile", "stabctl profile 1 57"},
    {"profile", "stabctl profile 1 --cells 'sort opt=O1' 'sort opt=O2'"},
    {"causal", "stabctl causal --coz profile.coz -- ./program input"},
    {"causal", "stabctl causal --scope '*/src/*' --line parse.cc:120 --runs 10 -- ./program"},
    {"causal", "stabctl causal --read first.coz second.coz --json"},
    {"causal verify", "stabctl causal verify 3 change.toml"},
    {"causal verify", "stabctl causal verify 3 change.toml --line parse.cc:120 --speedup 40%"},
    {"analyze",
     "stabctl analyze trials.csv --metric seconds --factors opt,heap --block round --log"},
    {"analyze", "stabctl analyze trials.csv --metric seconds --factors opt --margin 1%"},
    {"analyze", "stabctl analyze old.json new.json --factor version=old,new --log"},
    {"counters", "stabctl counters"},
    {"counters", "stabctl counters 'cache-*'"},
    {"doctor", "stabctl doctor"},
    {"doctor", "stabctl doctor --machines  # the Slurm cluster"},
    {"compiler", "stabctl compiler list"},
    {"compiler list", "stabctl compiler list --json"},
    {"compiler add", "stabctl compiler add ~/llvm/build/bin/clang"},
    {"quiet", "stabctl quiet status"},
    {"quiet status", "stabctl quiet status"},
    {"quiet apply", "stabctl quiet apply"},
    {"quiet apply", "stabctl quiet apply --knobs swappiness,ksm --strict"},
    {"quiet restore", "stabctl quiet restore"},
    {"backup", "stabctl backup copy.db"},
    {"import", "stabctl import experiment.stab"},
    {"import", "stabctl import experiment.stab --folder results"},
    {"recover", "stabctl recover /var/lib/stabd whole.db"},
    {"machines", "stabctl machines"},
    {"machines", "stabctl machines --folder results --json"},
    {"sql", "stabctl sql 'SELECT id, name, state FROM experiment'"},
    {"sql",
     "stabctl sql --folder results --csv \"SELECT position, value FROM trial JOIN reading ON "
     "trial.id = reading.trial WHERE name = 'page-faults-minor'\""},
    {"help", "stabctl help quiet apply"},
    {"help", "stabctl help --man ab | man -l -"},
    {"completion", "source <(stabctl completion bash)  # in ~/.bashrc"},
    {"completion", "stabctl completion zsh >~/.zfunc/_stabctl"},
    {"completion", "stabctl completion fish >~/.config/fish/completions/stabctl.fish"},
});

}  // namespace

std::span<const Example> examples() {
  return example_table;
}

std::string examples_text(std::string_view verb) {
  std::string text;
  for (const Example& example : example_table)
    if (example.verb == verb) text += "\n  " + std::string(example.line);
  return text.empty() ? text : "Examples:" + text;
}

namespace {

// Each script calls 'stabctl completion words -- WORD...'. Each WORD is written as a program gets
// it, without the shell's quotes. An output line is a candidate, a tab and its description, or one
// of :files and :plans.
constexpr std::string_view bash_script = R"(# stabctl's completion for bash
_stabctl() {
  local line current=${COMP_WORDS[COMP_CWORD]}
  local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  words=("${words[@]//[\"\'\\]/}")
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
      :plans) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X '!*.toml' -- "$current"; compgen -d -- "$current") ;;
      *) COMPREPLY+=("${line%%$'\t'*}"); continue ;;
    esac
    compopt -o filenames 2>/dev/null
  done < <("${1/#\~/$HOME}" completion words -- "${words[@]}" 2>/dev/null)
}
complete -F _stabctl stabctl
)";

constexpr std::string_view zsh_script = R"(#compdef stabctl
_stabctl() {
  local line word about tab=$'\t' ret=1
  local -a described typed
  typed=("${(@Q)words[1,CURRENT]}")
  [[ $typed[1] != '~/'* ]] || typed[1]=$HOME${typed[1]:1}
  for line in "${(@f)$(_call_program words "${(q)typed[1]}" completion words -- "${(@q)typed[2,-1]}")}"; do
    case $line in
      :files) _files && ret=0 ;;
      :plans) _files -g '*.toml' && ret=0 ;;
      ?*)
        word=${line%%$tab*}
        word=${word//:/\\:}
        about=${line#*$tab}
        described+=("$word${about:+:$about}")
        ;;
    esac
  done
  (( $#described )) && _describe stabctl described && ret=0
  return ret
}
if [[ $funcstack[1] == _stabctl ]]; then
  _stabctl "$@"
else
  compdef _stabctl stabctl
fi
)";

constexpr std::string_view fish_script = R"(# stabctl's completion for fish
function __stabctl_words
  set -l words (commandline -opc)
  set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
  type -q $program; or return
  set -e words[1]
  set -l current (commandline -ct)
  for line in ($program completion words -- $words "$current" 2>/dev/null)
    switch $line
      case :files
        __fish_complete_path "$current"
      case :plans
        __fish_complete_path "$current" | string match -r '^[^\t]*(?:/|\.toml)(?:\t.*)?$'
      case '*'
        echo $line
    end
  end
end
complete -c stabctl -f -a '(__stabctl_words)'
)";

const CLI::Option* find_option(const CLI::App* app, const std::string& word) {
  for (; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      if (option->check_name(word)) return option;
  return nullptr;
}

const CLI::App* find_verb(const CLI::App& app, const std::string& word) {
  for (const CLI::App* verb : app.get_subcommands({}))
    if (verb->check_name(word)) return verb;
  return nullptr;
}

// The state of a command line after some of its words.
struct Reached {
  const CLI::App* app;
  const CLI::Option* option = nullptr;  // the option that takes `values` more words
  int values = 0;
  int positionals = 0;
  bool only_positionals = false;
  std::string folder{};

  void pass(const std::string& word) {
    if (only_positionals) {
      ++positionals;
    } else if (word == "--") {
      only_positionals = true;
      values = 0;
    } else if (word.size() > 1 && word.front() == '-') {
      const std::size_t equals = word.find('=');
      option = find_option(app, word.substr(0, equals));
      values =
          option == nullptr || equals != std::string::npos ? 0 : option->get_items_expected_max();
      if (option != nullptr && equals != std::string::npos && option->check_lname("folder"))
        folder = word.substr(equals + 1);
    } else if (word == "=") {  // bash makes "=" a word of its own
    } else if (values > 0) {
      --values;
      if (option != nullptr && option->check_lname("folder")) folder = word;
    } else if (const CLI::App* verb = find_verb(*app, word)) {
      *this = {.app = verb};
    } else {
      ++positionals;
    }
  }
};

void add_options(const CLI::App* app, std::vector<Candidate>& candidates) {
  for (; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_group().empty()) continue;
      for (const std::string& name : option->get_lnames())
        candidates.push_back({.word = "--" + name, .about = option->get_description()});
      for (const std::string& name : option->get_snames())
        candidates.push_back({.word = "-" + name, .about = option->get_description()});
    }
}

// Replaces ~, because shells pass the folder as it is typed.
std::string without_tilde(const std::string& folder) {
  const char* const home = folder.starts_with("~/") ? std::getenv("HOME") : nullptr;
  return home == nullptr ? folder : home + folder.substr(1);
}

// A number is never a file, and a folder is usually the folder of a run.
Also files_unless_number(const CLI::Option& option) {
  if (option.check_lname("folder")) return Also::folders;
  const std::string type = option.get_type_name();
  return type.starts_with("TEXT") ? Also::files : Also::nothing;
}

void add_values(const CLI::Option& option, Completion& completion) {
  const auto words = manual::words_of(option);
  for (const std::string& word : words)
    completion.candidates.push_back({.word = word, .about = ""});
  if (words.empty()) completion.also = files_unless_number(option);
}

// Completes "--option=value" as a whole. Only bash makes the value a word of its own.
void add_values_after_equals(const CLI::App* app, const std::string& current,
                             Completion& completion) {
  const std::string name = current.substr(0, current.find('='));
  const CLI::Option* const option = find_option(app, name);
  if (option == nullptr) return;
  for (const std::string& word : manual::words_of(*option))
    completion.candidates.push_back({.word = name + "=" + word, .about = ""});
}

void add_positional(const Reached& reached, Completion& completion) {
  int place = 0;
  for (const CLI::Option* option : reached.app->get_options()) {
    if (option->nonpositional()) continue;
    place += option->get_items_expected_max();
    if (reached.positionals >= place) continue;
    const std::string name = option->get_name(true);
    if (name == "id" || name == "ids")
      completion.also = Also::experiments;
    else if (name == "plan")
      completion.also = Also::plans;
    else
      add_values(*option, completion);
    return;
  }
}

}  // namespace

Completion complete(const CLI::App& app, std::span<const std::string> words) {
  const std::string nothing;
  if (words.empty()) words = {&nothing, 1};  // the parser drops a single empty word
  Reached reached{.app = &app};
  for (const std::string& word : words.first(words.size() - 1)) reached.pass(word);
  const std::string& current = words.back();
  Completion completion;
  if (!reached.only_positionals && current.starts_with("--") && current.contains('=')) {
    add_values_after_equals(reached.app, current, completion);
  } else if (!reached.only_positionals && current.starts_with('-')) {
    add_options(reached.app, completion.candidates);
  } else if (!reached.only_positionals && reached.values > 0) {
    add_values(*reached.option, completion);
  } else {
    if (!reached.only_positionals && reached.positionals == 0)
      for (const CLI::App* verb : reached.app->get_subcommands({}))
        completion.candidates.push_back(
            {.word = verb->get_name(), .about = verb->get_description()});
    add_positional(reached, completion);
  }
  completion.folder = without_tilde(reached.folder);
  std::erase_if(completion.candidates,
                [&](const Candidate& each) { return !each.word.starts_with(current); });
  return completion;
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script;
  return shell == "zsh" ? zsh_script : fish_script;
}

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
  for (const std::string& line : completed_folders(folder_of_runs(), current))
    fmt::print("{}\n", line);
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
  CLI::App* help_verb = verb("help", "Show the help text or the manual page of a verb",
                             [this, &a] { return help(a.words, a.man); });
  help_verb
      ->add_option("verb", a.words, "Explain this verb; without a verb, explain stabctl itself")
      ->expected(0, 2);
  CLI::Option* man = help_verb->add_flag(
      "--man", a.man, "Print a manual page; to read it, use stabctl help --man | man -l -");
  json_flag(help_verb)->excludes(man);
  CLI::App* completion =
      verb("completion",
           "Print a shell script that completes verbs, options, plans and numbers of experiments",
           [this, &a] { return print_completion(a.shell, a.words); });
  completion
      ->add_option("shell", a.shell,
                   "The shell to print a completion script for. The script itself calls 'stabctl "
                   "completion words' to ask which words may come next")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "words"}));
  completion->add_option(
      "words", a.words,
      "With 'words': the words that the user has typed so far. Write -- before them");
}

}  // namespace stab::command_line
