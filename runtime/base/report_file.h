// SPDX-License-Identifier: MIT
// The file of the option report=, to which lines are appended: by the process that opened it, and
// one by each of those that were forked off and have new layouts of their own.
#pragma once

#include <stdint.h>

#include "runtime/base/line.h"
#include "runtime/base/options.h"

namespace stab::rt {

// Remembers the file. The path is made absolute: the program may change its directory.
void open_report(const Options& options);
bool report_wanted();
bool report_wanted_by_child();
// In a child of fork.
void note_fork();
void write_line(const Line& line);
// The number of the process that opened the report.
uint64_t report_owner();
// Writes nothing more, unless the report is resumed. Returns false if it had ended before.
bool end_report();
void resume_report();

// One line on standard error.
void complain(const char* what, const char* detail);

}  // namespace stab::rt
