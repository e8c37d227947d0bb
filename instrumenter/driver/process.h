// SPDX-License-Identifier: MIT
// Starting programs: in our place, or as a child that we wait for.
#pragma once

#include "base/error.h"
#include "instrumenter/driver/response_file.h"

namespace stab::driver {

// How a child ended, as waitpid tells it.
struct Ending {
  int status = 0;
  [[nodiscard]] bool success() const { return status == 0; }
};

// Runs words[0] with the words as its arguments. The child dies if we do. Its stderr is ours, or
// nobody's.
enum class Errors { shown, dropped };
Result<Ending> run_and_wait(const Words& words, Errors errors = Errors::shown);

// What the program writes to its standard output, as it runs to a successful end; its errors are
// nobody's.
Result<std::string> read_output(const Words& words);

// Becomes the program; returns only if that fails.
Error become(const Words& words);

// Ends this process as the child ended: with its exit status or by its signal.
[[noreturn]] void end_like(const Ending& ending);

}  // namespace stab::driver
