// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/text.h"
#include "client/machine/machine_verbs.h"

namespace stab::client {

Result<int> compilers(const CompilerOptions& options) {
  if (options.added && options.added->empty())
    return fail("name the clang that gets a pass: stabctl compiler add /path/to/clang");
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = self.parent_path() / "szc";
  const std::string szc = !error && access(beside.c_str(), X_OK) == 0 ? beside : "szc";
  const std::string command =
      shell_quote(szc) + " " +
      (options.added ? "--stab-add-compiler " + shell_quote(*options.added) : "--stab-compilers") +
      (options.json ? " --json" : "");
  FILE* output = popen(command.c_str(), "re");
  if (output == nullptr) return fail_errno("cannot start szc");
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), output)) > 0;)
    text.append(buffer.data(), got);
  const int status = pclose(output);
  constexpr int not_found = 127;
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found)
    return fail("there is no szc beside stabctl or in PATH: install the package 'szc'");
  fmt::print("{}", text);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace stab::client
