// SPDX-License-Identifier: MIT
// What may come next on a command line of stabctl: one answer for all shells, whose scripts only ask.
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

// What else may come than the candidates.
enum class Also { nothing, files, plans, experiments };

struct Completion {
  std::vector<Candidate> candidates;
  Also also = Also::nothing;
};

// `words` are those behind "stabctl"; the last one is being typed and may be empty.
Completion complete(const CLI::App& app, std::span<const std::string> words);

// For this shell, "bash", "zsh" or "fish".
std::string_view completion_script(std::string_view shell);

}  // namespace stab::command_line
