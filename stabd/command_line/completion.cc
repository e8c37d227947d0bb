// SPDX-License-Identifier: MIT
#include "stabd/command_line/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "stabd/manual/manual.h"

namespace stab::command_line {
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
  local line
  local -a described
  local -a typed=("${(@Q)words[1,CURRENT]}")
  for line in "${(@f)$(_call_program words ${(q)typed[1]/#\~\//$HOME/} completion words -- "${(@q)typed[2,-1]}")}"; do
    case $line in
      :files) _files ;;
      :plans) _files -g '*.toml' ;;
      ?*) described+=("${${line%%$'\t'*}//:/\\:}${${line#*$'\t'}:+:${line#*$'\t'}}") ;;
    esac
  done
  (( $#described )) && _describe stabctl described
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

}  // namespace stab::command_line
