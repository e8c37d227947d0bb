// SPDX-License-Identifier: MIT
// Starts programs: in place of this process, or as a child to wait for.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "instrumenter/driver/response_file.h"

namespace stab::driver {

// How a child ended, as reported by waitpid.
struct Ending {
  int status = 0;
  [[nodiscard]] bool success() const { return status == 0; }
};

// The kernel refuses very long arguments, so each of these functions passes them in a response file
// in memory. The program must read "@file", as compilers and lld do.

// Runs words[0] with the words as its arguments. The child dies if we do. Its stderr is ours, or is
// discarded.
enum class Errors { shown, dropped };
Result<Ending> run_and_wait(const Words& words, Errors errors = Errors::shown);

// Returns the program's standard output if it ends successfully. Its stderr is discarded.
Result<std::string> read_output(const Words& words);

// Becomes the program, and returns only if that fails. The first `kept` words are never in a
// response file: the program, and the one that it starts, as in "ccache clang".
Error become(const Words& words, std::size_t kept = 1);

// Ends this process as the child ended: with its exit status or by its signal.
[[noreturn]] void end_like(const Ending& ending);

}  // namespace stab::driver
