// SPDX-License-Identifier: MIT
// What stabctl exits with, for --help and the manual page. doc/exit_codes.md has the same table.
#pragma once

#include <array>

namespace stab::command_line {

struct ExitCodeRow {
  const char* code;
  const char* meaning;
};

inline constexpr std::array<ExitCodeRow, 6> exit_code_table{{
    {"0", "it worked, whatever the verdicts are"},
    {"1", "wrong usage, bad input, a failure of the tool, or output that could not be written"},
    {"2", "--fail-on regressed: something is slower, or worse in another way"},
    {"3", "--fail-on unsure: something cannot be told"},
    {"5",
     "--fail-on trials, the default: trials failed; always: the experiment failed or was "
     "cancelled"},
    {"128+N", "signal N interrupted it; the experiment goes on or is paused"},
}};

inline constexpr const char* exit_code_notes =
    "A verdict is an answer, not a failure. --fail-on of run, ab, submit --wait, watch, logs -f, "
    "compare, analyze and report makes it one. If several findings apply, the first of 1, 5, 2, 3 "
    "counts. report ignores failed trials unless --fail-on is given. backup and recover exit with "
    "5 if the copy is damaged, or if something was or may be lost. replay exits as the trial's "
    "program does.";

}  // namespace stab::command_line
