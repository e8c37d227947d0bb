// SPDX-License-Identifier: MIT
// The exit codes of stabctl, for --help and the manual page. doc/exit_codes.md has the same table.
#pragma once

#include <array>

namespace stab::command_line {

struct ExitCodeRow {
  const char* code;
  const char* meaning;
};

inline constexpr std::array<ExitCodeRow, 6> exit_code_table{{
    {"0", "success, whatever the verdicts are"},
    {"1", "wrong usage, bad input, an internal failure, or output that could not be written"},
    {"2", "--fail-on regressed: something is slower, or worse in another way"},
    {"3", "--fail-on unsure: some comparison has no clear answer"},
    {"5",
     "--fail-on trials, the default: trials failed; always: the experiment failed or was "
     "cancelled"},
    {"128+N", "signal N interrupted the command; the experiment continues or is paused"},
}};

inline constexpr const char* exit_code_notes =
    "A verdict is an answer, not a failure. --fail-on of run, ab, submit --wait, watch, logs -f, "
    "compare, analyze and report turns verdicts into failures. If several exit codes apply, the "
    "first of 1, 5, 2, 3 is used. report ignores failed trials unless --fail-on is given. backup "
    "and recover exit with 5 if the copy is damaged, or if something was or may be lost. replay "
    "exits with the exit code of the trial's program.";

}  // namespace stab::command_line
