// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stabd/client/machine/machine_verbs.h"

namespace stab::client {

Result<int> compilers(const CompilerOptions& options) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = self.parent_path() / "szc";
  const std::string szc = !error && access(beside.c_str(), X_OK) == 0 ? beside : "szc";
  std::vector<std::string> words{szc};
  if (options.added.empty())
    words.emplace_back("--stab-compilers");
  else
    words.insert(words.end(), {"--stab-add-compiler", options.added});
  if (options.json) words.emplace_back("--json");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(szc.c_str(), argv.data());
  return fail_errno("cannot start szc, which belongs beside stabctl (the package 'szc')");
}

}  // namespace stab::client
