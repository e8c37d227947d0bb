// SPDX-License-Identifier: MIT
// Starting programs: in our place, or as a child that we wait for.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "instrumenter/driver/response_file.h"

namespace stab::driver {

// How a child ended, as waitpid tells it.
struct Ending {
  int status = 0;
  [[nodiscard]] bool success() const { return status == 0; }
};

// Each of these passes very long arguments in a response file in memory, because the kernel refuses
// them; the program must read "@file", as compilers and lld do.

// Runs words[0] with the words as its arguments. The child dies if we do. Its stderr is ours, or
// nobody's.
enum class Errors { shown, dropped };
Result<Ending> run_and_wait(const Words& words, Errors errors = Errors::shown);

// What the program writes to its standard output, as it runs to a successful end; its errors are
// nobody's.
Result<std::string> read_output(const Words& words);

// Becomes the program; returns only if that fails. The first `kept` words are never in a response
// file: the program, and the one that it starts, as in "ccache clang".
Error become(const Words& words, std::size_t kept = 1);

// Ends this process as the child ended: with its exit status or by its signal.
[[noreturn]] void end_like(const Ending& ending);

}  // namespace stab::driver
