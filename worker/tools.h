// SPDX-License-Identifier: MIT
// Finds the programs that a build command uses, so that another version of a compiler makes another
// build.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/processes.h"

namespace stab::worker {

// The words of a shell command that may name a program, each once. The command is cut at spaces,
// quotes, '=' and shell operators.
std::vector<std::string> words_of(std::string_view command);

// Returns a text that changes if one of the command's programs, or one of the usual compilers and
// linkers behind them, is replaced. It has the real path, size and modification time of each of
// these programs that PATH has. szc also reports the parts that it brings along: its linker, its
// runtime and its pass.
std::string toolchain(std::string_view command, const std::vector<std::string>& environment,
                      machine::Containment containment = machine::Containment::process_tree);

}  // namespace stab::worker
