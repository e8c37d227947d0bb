// SPDX-License-Identifier: MIT
// All that tells users of the verbs and options: examples, exit codes, and the words that can come
// next on a command line.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace stab::command_line {

// The command lines at the end of each verb's --help and of the manual page. A test gives each of
// them to the real parser.
struct Example {
  std::string_view verb;  // "quiet apply" for a verb of a verb
  std::string_view line;
};

// The examples of one verb follow each other.
std::span<const Example> examples();

// "Examples:", and a line for each example; "" if the verb has no examples.
std::string examples_text(std::string_view verb);

// The exit codes of stabctl, for --help and the manual page. doc/exit_codes.md has the same table.
struct ExitCodeRow {
  const char* code;
  const char* meaning;
};

inline constexpr std::array<ExitCodeRow, 6> exit_code_table{{
    {"0", "success, whatever the verdicts are"},
    {"1", "wrong usage, bad input, an internal failure, or output that could not be written"},
    {"2", "--fail-on regressed: something is slower, or worse in another way"},
    {"3", "--fail-on unsure: some comparison has no clear answer"},
    {"5",
     "--fail-on trials (the default): some trials failed. Whatever --fail-on says: the experiment "
     "failed or was cancelled"},
    {"128+N", "signal N interrupted the command; the experiment continues or is paused"},
}};

inline constexpr const char* exit_code_notes =
    "A verdict is an answer, not a failure. The option --fail-on of run, ab, submit --wait, watch, "
    "logs -f, compare, analyze and report turns verdicts into failures. If several exit codes "
    "apply, the first of 1, 5, 2, 3 is used. stabctl report ignores failed trials unless --fail-on "
    "is given. stabctl backup and stabctl recover exit with 5 if the copy is damaged, or if data "
    "was lost or may be lost. stabctl replay exits with the exit code of the trial's program.";

// Finds the words that can come next on a command line of stabctl. The scripts of all shells ask
// here.

struct Candidate {
  std::string word;
  std::string about;
};

// Further candidates, which the shell, the daemon or a database adds.
enum class Also { nothing, files, plans, experiments, folders };

struct Completion {
  std::vector<Candidate> candidates;
  Also also = Also::nothing;
  std::string folder{};  // an earlier --folder, whose database has the experiments
};

// `words` are the words after "stabctl". The last one is being typed and may be empty.
Completion complete(const CLI::App& app, std::span<const std::string> words);

// The completion script for "bash", "zsh" or "fish".
std::string_view completion_script(std::string_view shell);

}  // namespace stab::command_line
