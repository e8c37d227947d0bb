// SPDX-License-Identifier: MIT
// Which programs a build command uses, so that another compiler version is another build.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/processes.h"

namespace stab::worker {

// The words of a shell command that may name a program: cut at spaces, quotes, '=' and shell
// operators; each once.
std::vector<std::string> words_of(std::string_view command);

// A text that changes when one of the command's programs, or the usual compilers and linkers behind
// them, is replaced: real path, size and time of change of each that PATH has. szc is asked for the
// parts that it brings along: its linker, its runtime, its pass.
std::string toolchain(std::string_view command, const std::vector<std::string>& environment,
                      machine::Containment containment = machine::Containment::process_tree);

}  // namespace stab::worker
