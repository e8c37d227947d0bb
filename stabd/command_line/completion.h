// SPDX-License-Identifier: MIT
// Finds the words that can come next on a command line of stabctl. The scripts of all shells ask
// here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace stab::command_line {

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
