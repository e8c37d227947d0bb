// SPDX-License-Identifier: MIT
// Says which words may come next on a command line of stabctl. The scripts of all shells ask here.
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

// What the shell, the daemon or a database adds to the candidates.
enum class Also { nothing, files, plans, experiments, folders };

struct Completion {
  std::vector<Candidate> candidates;
  Also also = Also::nothing;
  std::string folder{};  // named before: its database has the experiments
};

// `words` follow "stabctl"; the last one is being typed and may be empty.
Completion complete(const CLI::App& app, std::span<const std::string> words);

// The script for this shell: "bash", "zsh" or "fish".
std::string_view completion_script(std::string_view shell);

}  // namespace stab::command_line
